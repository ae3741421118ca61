"""Saves that survive an absent server and a crash of the program: on the local disk until the server has acknowledged them."""

from stillhere.spool.spool import Spool, SpoolError
from stillhere.spool.storage import Refused

__all__ = ["Refused", "Spool", "SpoolError"]
