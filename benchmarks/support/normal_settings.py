"""The product's settings with `synchronous=NORMAL`, where a commit returns before it is on the disk. For P11b."""

from config.settings import *  # noqa: F403
from config.settings import DATABASES

_options = DATABASES["default"]["OPTIONS"]
_full = _options["init_command"]
_options["init_command"] = _full.replace("synchronous=FULL", "synchronous=NORMAL")
if _options["init_command"] == _full:
    raise RuntimeError("the product's settings do not say synchronous=FULL")
