"""What makes two reports the same error: kind, message without what varies, and the top frame, in whatever shape they came.

Line and column are left out, because they move with every edit; the line counts only where no function is known. Pure; the
patterns go back over nothing twice (`++`, `*+`), so that hostile texts take no longer than others.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import orjson

from memory_app.models.error import FINGERPRINT_LENGTH
from memory_app.services.frames import Frame, last_call, top_frame

# In the order in which they are tried at one place; a group's name is what stands for it.
_VARYING = re.compile(
    r"(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://[^\s'\"<>`)\]]++)"
    # Apostrophes inside words open nothing.
    r"|(?P<text>(?<!\w)'[^'\n]*+'(?!\w)|\"(?:[^\"\\\n]|\\.)*+\"|`[^`\n]*+`|‘[^‘’\n]*+’|“[^“”\n]*+”|«[^«»\n]*+»)"
    # Absolute, `./`, `~/` and drives; relative ones only where they end in a file's name, because `and/or` is none.
    r"|(?:^|(?<=[\s=(\[{,:;|]))(?P<path>(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.@+~%$-]++)++[/\\]?"
    r"|(?:[\w.@+-]+[/\\])+[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]\w{0,5}\b)"
    r"|(?P<hex>\b0[xX][0-9a-fA-F]++\b|\b(?=[a-fA-F]*[0-9])(?![0-9]++\b)[0-9a-fA-F]{8,}+\b)"
    # The codes of compilers and databases (TS2345, E0502, P2002) are names, not numbers.
    r"|(?P<code>\b[A-Z]{1,4}[0-9]{2,5}\b)"
    r"|(?P<number>[+-]?\d++(?:[.,:]\d++)*+)"
)
# What a date, an address or `1,200.5ms` leaves.
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
# Where an image puts the project: `/app/main.py` is the project's `main.py`.
_ROOTS = {"app", "code", "src", "srv", "workspace"}
# What a build puts into a file's name.
_BUILD_HASH = re.compile(r"[.-][0-9a-f]{8,}\b")
_SCRIPT = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte)(?:[?#]|$)")
# What a browser puts before a function that is no class's.
_RECEIVERS = {"", "Object", "Module", "Function", "Window", "window", "exports", "self", "globalThis"}
_UNNAMED = {"", "?", "<anonymous>", "anonymous", "<unknown>", "<unknown module>", "(anonymous)"}


@dataclass(frozen=True, slots=True)
class Identity:
    """Which error it is, and what was understood of it."""

    fingerprint: str
    message: str
    kind: str
    frame: Frame


def identify(*, message: str, kind: str = "", stack: Any = None) -> Identity:
    """The kind is read from the message or the stack where it was not said."""
    own_kind, own_message = _split(message, kind)
    own_kind = own_kind or _kind_of_stack(stack)
    frame = top_frame(stack)
    place = [_file(frame.file), _function(frame)]
    if not place[1]:
        place.append(str(frame.line or ""))
    parts = [_short(own_kind), normalise(own_message), *place]
    digest = hashlib.sha256(orjson.dumps(parts)).hexdigest()[:FINGERPRINT_LENGTH]
    return Identity(digest, own_message, own_kind, frame)


def normalise(message: str) -> str:
    """Without numbers, UUIDs, hexadecimal ids, paths, addresses and quoted texts; blanks count as one."""
    return " ".join(_NUMBERS.sub("<number>", _VARYING.sub(_fold, message)).split())


def _fold(match: re.Match[str]) -> str:
    return match.group() if match.lastgroup == "code" else f"<{match.lastgroup}>"


def _split(message: str, kind: str) -> tuple[str, str]:
    """The message without its heading, where that says the kind."""
    heading = _HEADING.search(message)
    if heading is None:
        return kind, message.removeprefix(f"{kind}: ") if kind else message
    if kind and _short(kind) != _short(heading.group("kind")):
        return kind, message
    return kind or heading.group("kind"), message[heading.end() :]


def _kind_of_stack(stack: Any) -> str:
    """It stands in the first line; Python says it behind the last call, whose source is indented."""
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
    """The last two steps of the path: as much as a path seen from the root and one seen from the project have in common."""
    plain = file.partition("?")[0].partition("#")[0].replace("\\", "/")
    steps = plain.split("/")
    if "://" in plain:
        steps = plain.partition("://")[2].split("/")[1:]  # Without the host.
    steps = [_BUILD_HASH.sub("", step) for step in steps if step not in {"", ".", ".."}]
    if plain.startswith("/") and len(steps) == 2 and steps[0] in _ROOTS:
        steps = steps[1:]
    if len(steps) > 1 and steps[-2] == steps[-1].partition(".")[0]:
        steps = steps[-1:]  # A folder named like its file says nothing more.
    return "/".join(steps[-2:])


def _function(frame: Frame) -> str:
    """The function alone, without package, class, arguments and the numbers of what is nested in it.

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
