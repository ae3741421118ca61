"""The command `stillhere`."""

from stillhere.cli.main import main

__all__ = ["main"]
