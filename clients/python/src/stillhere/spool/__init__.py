"""Saves that survive an absent server and a crash of the program: on the local disk until the server has acknowledged them."""

from stillhere.spool.items import DamagedSpool, Refused, SpoolError
from stillhere.spool.spool import Spool

__all__ = ["DamagedSpool", "Refused", "Spool", "SpoolError"]
