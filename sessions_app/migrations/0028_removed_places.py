"""The index of a session's removed messages by place, for its history. Adding a message does not write it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0027_branches")]
    operations = [
        migrations.AddIndex(
            "message",
            models.Index(
                fields=["session", "epoch", "position", "rev"], name="message_removed_place", condition=~models.Q(removed="")
            ),
        )
    ]
