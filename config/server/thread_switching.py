"""How soon a thread that computes lets another one run.

Python runs one thread at a time. One that waits, for the database or a socket, has to get its turn back afterwards, and a thread
that computes keeps it for the whole interval. A save waits some twenty times: beside an import or a long page that was 100 ms at
Python's default of 5 ms, and as long it held SQLite's lock.
"""

import sys

# At 0.5 ms twenty such waits take a seventh of the time, and 32 clients save as many messages as before.
SECONDS = 0.0005


def switch_soon() -> None:
    sys.setswitchinterval(SECONDS)
