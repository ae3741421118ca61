import tomllib
from functools import lru_cache

from django.conf import settings


@lru_cache
def version() -> str:
    with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])
