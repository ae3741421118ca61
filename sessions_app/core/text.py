import hashlib


def folded(text: str) -> str:
    """Normalized text: equal for texts that differ only in case and white space."""
    return " ".join(text.casefold().split())


def count(number: int) -> str:
    """With thin spaces between the thousands, where no line breaks."""
    return f"{number:,}".replace(",", "\u202f")


def sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def same_name(typed: str, name: str) -> bool:
    """Whether somebody typed this name as a page shows it: there a line end or several blanks are one blank."""
    return typed.split() == name.split()
