"""When Python looks for unreachable cycles: not while the server loads its modules, and never among what they made.

A look through everything takes 100 ms, in which nobody is answered; and until the first answer it would be taken several times.
"""

import gc

# What begins a server: `manage.py serve`, and each of its workers, which are begun with the same arguments.
COMMANDS = (["run"], ["serve"])


def pause(arguments: list[str]) -> None:
    """Until `begin`, where these are the arguments of a process that will serve."""
    if arguments[1:2] in COMMANDS:
        gc.disable()


def begin() -> None:
    """Everything is loaded. It stays as long as the server, so it is not looked at any more. Nothing where it was not paused."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
