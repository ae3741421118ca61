def folded(text: str) -> str:
    """Equal for texts that say the same but for case and white space."""
    return " ".join(text.casefold().split())
