"""Saves that survive an absent server and a crash of the program: on the local disk until the server has acknowledged them."""

from stillhere.spool.spool import Spool
from stillhere.spool.storage import DamagedSpool, Refused, SpoolError

__all__ = ["DamagedSpool", "Refused", "Spool", "SpoolError"]
