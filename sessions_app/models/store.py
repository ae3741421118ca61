from django.db import models


class Store(models.Model):
    """One row about the whole store. A restored backup is a new incarnation, so that no old ETag matches."""

    incarnation = models.PositiveBigIntegerField(default=1)

    def __str__(self) -> str:
        return f"incarnation {self.incarnation}"
