"""Texts of about 1 KB that resemble a chat's: words, punctuation, some line breaks and quotes."""

import random

MESSAGE_BYTES = 1_000
VOCABULARY = """
the a of and to in that it is was for on with as be at by this had not are but from or have an they which one you were all
her she there would their we him been has when who will no more if out so up said what its about than into them can only
other time new some could these two may first then do any like my now over such our man me even most made after also did
many off before must well back through years where much your way down should because long each just state people those too
session message server browser answer question function database index latency “quoted” naïve café deploy rollback
"""
WORDS = VOCABULARY.split()


def texts(count: int = 64) -> list[str]:
    """Different texts, the same ones in every run."""
    source = random.Random(20)  # noqa: S311 - nothing secret
    return [_text(source) for _ in range(count)]


def _text(source: random.Random) -> str:
    sentences: list[str] = []
    size = 0
    while size < MESSAGE_BYTES:
        words = " ".join(source.choices(WORDS, k=source.randint(6, 18)))
        sentence = words.capitalize() + source.choice([".", ".", ".", "?", "!\n"])
        sentences.append(sentence)
        size += len(sentence.encode()) + 1
    return " ".join(sentences)
