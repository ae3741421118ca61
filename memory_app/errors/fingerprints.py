"""Fingerprints: two reports are the same error if kind, message without variable parts, and top frame are equal.

Line and column are left out, because they change with every edit; the line counts only if no function is known. Pure; the
patterns are possessive (`++`, `*+`), so that hostile texts cause no backtracking.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import orjson

from memory_app.errors.stack_frames import Frame, last_call, top_frame
from memory_app.models.error import FINGERPRINT_LENGTH

# The name of something missing distinguishes errors, unless it looks like an id or a local path.
_NAME = r"(?P<quote>['\"`])(?P<name>(?![^'\"`\n]{0,100}\d{3})[A-Za-z_$@.][\w.$@/:-]{0,100})(?P=quote)"
_MISSING = (
    r"(?i:\bno module named|\bcannot import name|\bcannot find (?:module|package|name)|\bcould not resolve|\bno attribute"
    r"|\bkeyerror:?|\bkey not found:"
    r"|\bundefined (?:attribute|key|property|method|index|array key|variable|local variable or method)"
    r"|\bname(?= ['\"`])|\b(?:unknown|missing) (?:attribute|key|property|module|package)|\bmodule not found: error: can't resolve"
    r"|\(reading)"
)
# So does an HTTP status, if the text says that the number is one.
_STATUS = (
    r"(?i:\b(?:http(?:/\d(?:\.\d)?)?|status|response code|error code)(?:[ _-](?:status|code|error|was|is|of)){0,3}[:=]?[ (]{0,2})"
    r"[1-5]\d\d\b"
    r"|(?i:\b(?:returned|responded with|got|received|answered|failed with|code|error))[: (]{1,2}[45]\d\d\b"
    r"(?=\s*+(?:$|[.,:;)\]]|(?:for|from|on|to|by|when|instead|but)\b))"
    r"|(?:^\[?|(?<=\())[45]\d\d\b(?=[\])]?:? [A-Z])|\b[45]\d\d (?=(?:Client|Server) Error\b)"
)
# In the order in which they are tried at a position; the group's name is the placeholder.
_VARYING = re.compile(
    rf"(?P<missing>{_MISSING} {{0,2}}){_NAME}"
    rf"|(?P<status>{_STATUS})"
    r"|(?P<email>(?<![\w.+-])[\w.+-]{1,64}+@(?:[\w-]{1,63}+\.)+[A-Za-z]{2,24}\b)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://[^\s'\"<>`)\]]++)"
    # Apostrophes inside words do not open a quotation.
    r"|(?P<text>(?<!\w)'[^'\n]*+'(?!\w)|\"(?:[^\"\\\n]|\\.)*+\"|`[^`\n]*+`|‘[^‘’\n]*+’|“[^“”\n]*+”|«[^«»\n]*+»)"
    # Absolute, `./`, `~/` and drives; relative paths only if they end in a file name, because `and/or` is not a path.
    # On Windows a folder's name may have spaces, and quoted paths have doubled backslashes.
    r"|(?:^|(?<=[\s=(\[{,:;|]))(?P<path>(?:[A-Za-z]:|~|\.{1,2})?(?:(?<=:)[/\\]{1,2}[\w.()-]++(?: [\w.()-]++){1,4}(?=[/\\]))?"
    r"(?:[/\\]{1,2}[\w.@+~%$-]++)++[/\\]?"
    r"|(?:[\w.@+-]+[/\\]{1,2})+[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]\w{0,5}\b)"
    r"|(?P<hex>\b0[xX][0-9a-fA-F]++\b|\b(?=[a-fA-F]*[0-9])(?![0-9]++\b)[0-9a-fA-F]{8,}+\b)"
    # The codes of compilers and databases (TS2345, E0502, P2002) are names, not numbers.
    r"|(?P<code>\b[A-Z]{1,4}[0-9]{2,5}\b)"
    r"|(?P<number>[+-]?\d++(?:[.,:]\d++)*+)"
)
_KEY_KINDS, _WHOLE_NAME = re.compile(r"Key\w*Error|KeyNotFound|NoSuchKey|NoSuchElement"), re.compile(_NAME)
_STATUS_KINDS, _WHOLE_STATUS = re.compile(r"(?i)http|status|request|response|api"), re.compile(r"[1-5]\d\d(?!\d)")
_PLACEHOLDER, _WORD = re.compile(r"<\w++>"), re.compile(r"[^\W\d_]{3}")
# What remains of a date, an address or `1,200.5ms`.
_NUMBERS = re.compile(r"<number>(?:[.,:]?<number>)+")
# `Uncaught TypeError: …`, `java.lang.IllegalStateException: …` at the beginning of a message or of a stack.
_HEADING = re.compile(
    r"^(?:Uncaught |Unhandled exception\. |\(in promise\) |Exception in thread \"[^\"\n]*\" |Traceback[^\n]*\n)*"
    r"(?P<kind>[*&]?(?:[A-Za-z_$][\w$]*(?:\.|/|::))*[A-Z_$][\w$]*)(?::\s+|$)"
)
_PYTHON_END = re.compile(r"^[ |]*(?P<kind>[A-Za-z_][\w.]*)(?:: [^\n]*)?$")
_CALLS = re.compile(r"^(?:async |new |static )+| \[as [^\]]*\]|\([^()]*\)$")
_INNER = re.compile(r"(?:\.func\d+)?(?:[.$]\d+)+$|\.func\d+$|::\{\{closure\}\}$|::h[0-9a-f]{16}$")
_STATE_MACHINE = re.compile(r"<(\w+)>[\w$]*(?:\.MoveNext)?$")
# Where container images put the project: `/app/main.py` is the project's `main.py`.
_ROOTS = {"app", "code", "src", "srv", "workspace"}
# `C:/app/main.py` corresponds to `/app/main.py` elsewhere.
_DRIVE = re.compile(r"^[A-Za-z]:(?=/)")
# A build's hash in a file name.
_BUILD_HASH = re.compile(r"[.-][0-9a-f]{8,}\b")
_SCRIPT = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte)(?:[?#]|$)")
# A browser's prefix of functions that belong to no class.
_RECEIVERS = {"", "Object", "Module", "Function", "Window", "window", "exports", "self", "globalThis"}
_UNNAMED = {"", "?", "<anonymous>", "anonymous", "<unknown>", "<unknown module>", "(anonymous)"}


@dataclass(frozen=True, slots=True)
class Identity:
    """An error's fingerprint, and the parts it was made from."""

    fingerprint: str
    message: str
    kind: str
    frame: Frame


def identify(*, message: str, kind: str = "", stack: Any = None) -> Identity:
    """Identifies an error. A missing kind is read from the message or the stack."""
    own_kind, own_message = _split(message, kind)
    own_kind = own_kind or _kind_of_stack(stack)
    frame = top_frame(stack)
    place = [_file(frame.file), _function(frame)]
    if not place[1]:
        place.append(str(frame.line or ""))
    digest = _digest(_short(own_kind), _told(_short(own_kind), own_message), *place)
    return Identity(digest, own_message, own_kind, frame)


def alike(*, message: str, kind: str, own: Frame) -> tuple[str, str]:
    """What similar errors have in common: kind and top own frame; kind and message without variable parts.

    Empty where there is too little to compare: no function, or no word outside the variable parts.
    """
    short = _short(kind)
    function, told = _function(own), _told(short, message)
    place = _digest(short, _file(own.file), function) if short and function else ""
    return place, _digest(short, told) if _WORD.search(_PLACEHOLDER.sub("", told)) else ""


def normalise(message: str) -> str:
    """The message without numbers, UUIDs, hexadecimal ids, paths, addresses and quoted texts; runs of blanks count as one.

    Kept are the codes of compilers, the status of an answer, and the names in import, attribute and key errors.
    """
    return " ".join(_NUMBERS.sub("<number>", _VARYING.sub(_fold, message)).split())


def _digest(*parts: str) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:FINGERPRINT_LENGTH]


def _told(kind: str, message: str) -> str:
    """The message without variable parts. For some kinds the whole message has a known meaning: a key, or a status."""
    plain = message.strip()
    if _KEY_KINDS.search(kind) and (name := _WHOLE_NAME.fullmatch(plain)) is not None:
        return f"'{name['name']}'"
    if _STATUS_KINDS.search(kind) and _WHOLE_STATUS.match(plain):
        return f"{plain[:3]}{normalise(plain[3:])}"
    return normalise(message)


def _fold(match: re.Match[str]) -> str:
    if match["missing"]:
        return f"{match['missing'].lower()}'{match['name']}'"
    return match.group() if match.lastgroup in {"code", "status"} else f"<{match.lastgroup}>"


def _split(message: str, kind: str) -> tuple[str, str]:
    """Splits a heading that names the kind off the message."""
    heading = _HEADING.search(message)
    if heading is None:
        return kind, message.removeprefix(f"{kind}: ") if kind else message
    if kind and _short(kind) != _short(heading.group("kind")):
        return kind, message
    return kind or heading.group("kind"), message[heading.end() :]


def _kind_of_stack(stack: Any) -> str:
    """The kind is in the first line; in Python it follows the last call, whose source is indented."""
    if not isinstance(stack, str):
        return ""
    call = last_call(stack)
    if call is not None:
        lines = stack[call.end() :].splitlines()
        ends = (_PYTHON_END.search(line) for line in lines if not line.startswith("    "))
        return next((str(end.group("kind")) for end in ends if end is not None), "")
    heading = _HEADING.search(stack.partition("\n")[0].strip())
    return "" if heading is None else str(heading.group("kind"))


def _short(kind: str) -> str:
    """`java.lang.NullPointerException`, `*os.PathError`: without package and pointer."""
    return kind.strip().lstrip("*&").replace("::", ".").rpartition(".")[2]


def _file(file: str) -> str:
    """The last two parts of the path: what an absolute path and a project-relative one have in common."""
    plain = _DRIVE.sub("", file.partition("?")[0].partition("#")[0].replace("\\", "/"))
    steps = plain.split("/")
    if "://" in plain:
        steps = plain.partition("://")[2].split("/")[1:]  # Without the host.
    steps = [_BUILD_HASH.sub("", step) for step in steps if step not in {"", ".", ".."}]
    if plain.startswith("/") and len(steps) == 2 and steps[0] in _ROOTS:
        steps = steps[1:]
    if len(steps) > 1 and steps[-2] == steps[-1].partition(".")[0]:
        steps = steps[-1:]  # A folder named like its file adds nothing.
    return "/".join(steps[-2:])


def _function(frame: Frame) -> str:
    """The function's name without package, class, arguments and numbers of nested functions.

    In a script the class stays: one file may be a bundle of them all, and a list's frames name it too.
    """
    plain = frame.function.strip()
    if plain in _UNNAMED:
        return ""
    if (machine := _STATE_MACHINE.search(plain)) is not None and machine.group(1) not in _UNNAMED:
        return str(machine.group(1))
    plain = _INNER.sub("", _CALLS.sub("", plain))
    for separator in ("::", "->", "#", "/", "\\"):
        plain = plain.replace(separator, ".")
    steps = [step.strip("()*& ") for step in plain.rstrip(".").split(".")]
    if steps[-1] in _UNNAMED:
        return ""
    kept = 2 if _SCRIPT.search(frame.file) else 1
    return ".".join(step for step in steps[-kept:] if step not in _RECEIVERS)
