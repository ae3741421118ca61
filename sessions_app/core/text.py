import hashlib


def folded(text: str) -> str:
    """Normalized text: equal for texts that differ only in case and white space."""
    return " ".join(text.casefold().split())


def sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
