"""How much memory a long JSON text takes once it is parsed, told before it is."""

# Shorter texts may have any structure.
SHORT_BYTES = 16_000_000
MOST_QUOTES, MOST_STRUCTURE = 2_000_000, 5_000_000


def takes_much_memory(text: bytes) -> bool:
    """True for a long text that is more structure than strings: a list or an object of two bytes takes sixty."""
    if len(text) <= SHORT_BYTES:
        return False
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > MOST_QUOTES:
        return True
    return sum(len(outside) for outside in plain.split(b'"')[::2]) > MOST_STRUCTURE
