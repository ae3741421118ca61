"""What a process says that is not the writer of its project's memory."""

from typing import Any

READER = (
    "Another run{agent} is the writer of this project's memory. You can read everything and save conversations, but "
    "`session_store`, `error_record` and `error_resolve` are refused while it works."
)


def reader_notice(writer: dict[str, Any] | None, *, named: bool = False) -> str:
    """`writer`: the run that holds the lease, as the API shows it; None: this process does, and nothing is said.

    `named`: with its agent's name, for a person. A model is not told it: another agent chose it.
    """
    if writer is None:
        return ""
    return READER.format(agent=f" ({writer['agent']})" if named and writer["agent"] else "")
