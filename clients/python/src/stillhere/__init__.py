"""The client of Stillhere, a self-hosted store for AI chats, memory and the state of agents."""

from stillhere.client import AsyncClient, Client
from stillhere.errors import NoAnswer, StillhereError
from stillhere.spool import Spool, SpoolError

__all__ = ["AsyncClient", "Client", "NoAnswer", "Spool", "SpoolError", "StillhereError"]
