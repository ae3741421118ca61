"""Which blocks are folded. Separate from the renderer, so that the server's process does not load it."""

# Longer blocks are folded.
FOLDED_LINES = 24


def folded_lines(text: str) -> int:
    """How many lines a long block has; 0: it is not folded."""
    lines = text.count("\n", 0, -1) + 1
    return lines if lines > FOLDED_LINES else 0
