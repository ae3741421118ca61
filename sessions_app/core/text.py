import hashlib

# Hexadecimal digits of SHA-256; the key of a login has 165 random bits.
LOGIN_HASH_LENGTH = 40


def folded(text: str) -> str:
    """Normalized text: equal for texts that differ only in case and white space."""
    return " ".join(text.casefold().split())


def count(number: int) -> str:
    """With thin spaces between the thousands, where no line breaks."""
    return f"{number:,}".replace(",", "\u202f")


def sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def login_hash(session_key: str) -> str:
    """Under which a login is stored: its cookie has the key itself."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:LOGIN_HASH_LENGTH]


def same_name(typed: str, name: str) -> bool:
    """Whether somebody typed this name as a page shows it: there a line end or several blanks are one blank."""
    return typed.split() == name.split()
