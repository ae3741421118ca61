"""Texts that are meant to take long to render: of each kind a few that are known to, then as many random ones as wanted."""

import random
from collections.abc import Iterator
from itertools import islice

SIZE = 19_900
# Lexers and Markdown's rules begin something at each of these, and look far ahead for its end.
ATOMS = [
    *("[", "]", "(", ")", "{", "}", "<", ">", "*", "_", "`", "~", "!", "&", "|", "#", "-", "+", "=", ":", ";", ",", ".", "/"),
    *("\\", "'", '"', "'''", '"""', "/*", "//", "--", "${", "#{", "<%", "{{", "{%", "<?", "<!--", "](", "![", "**", "$$", "@"),
    *(" ", "  ", "\t", "\n", " \n", "\n\n", "a", "A", "aa", "1", "1.", "e", "x", "def ", "class ", "function ", "r'", "=>"),
    *("if ", "end", "begin\n", "case ", "a.", "a=", "a(", "<a ", "</a", "a::", "|a", "> ", "- ", "* ", "    ", "é", "漢"),
]
# Quadratic or worse in a lexer or in a rule of Markdown.
KNOWN = [
    " \n",
    "*",
    "a",
    "[",
    "![",
    "*a ",
    "*a_",
    "[a](b",
    "a**b",
    "> a\n",
    "<",
    "&",
    "'",
    '"',
    "(",
    "{",
    "\\",
    "`a``",
    "a ",
    "- ",
]


def hostile(seed: str) -> Iterator[str]:
    """One after another, the same ones for the same seed."""
    chance = random.Random(seed)
    for atom in KNOWN:
        yield _filled(atom)
    while True:
        repeated = "".join(chance.choices(ATOMS, k=chance.randint(1, 5)))
        before, after = ("".join(chance.choices(ATOMS, k=chance.randint(0, 3))) for _ in range(2))
        yield before + _filled(repeated) + after


def blocks(language: str, count: int) -> list[str]:
    """Messages of one block of code each. The later known ones are left out where only few are wanted."""
    found = islice(hostile(language), count)
    return [f"~~~~~{language}\n{text.replace('~~~~~', '')}\n~~~~~" for text in found]


def prose(count: int) -> list[str]:
    """Messages whose Markdown itself takes long, of twice a block's size."""
    return [text + text for text in islice(hostile("prose"), count)]


FORMULAS = [
    *(
        "{",
        "\\frac{",
        "x^",
        "_",
        "\\left(",
        "a ",
        "&",
        "\\begin{matrix}",
        "\\sqrt[",
        "'",
        "\\text{",
        "1",
        "\\\\",
        "\\color{",
        "}",
        "x_1^2 ",
    ),
    *(
        "\\newcommand{\\a}{\\b\\b}",
        "\\def\\a{\\a\\a}\\a",
        "\\begin{align}",
        "\\substack{",
        "\\overbrace{",
        "\\mathbf{",
        "\\begin{cases}",
    ),
]


def formulas(count: int) -> list[str]:
    """Messages of formulas, each as long as one may be."""
    chance = random.Random("formulas")
    more = ("".join(chance.choices(FORMULAS, k=chance.randint(2, 5))) for _ in range(count))
    return ["\n\n".join([f"$$\n{(atom * 1_900)[:1_900]}\n$$"] * 10) for atom in (*FORMULAS, *more)]


def _filled(atom: str) -> str:
    return atom * (SIZE // len(atom))
