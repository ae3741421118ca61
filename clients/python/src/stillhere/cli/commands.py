"""`save`, `resume` and `search`. Results go to standard output, everything else to standard error."""

import json
import math
import shlex
import sys
import uuid
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from stillhere.client import Client
from stillhere.connection import NO_PROJECT
from stillhere.errors import StillhereError
from stillhere.operations.new_sessions import save_in_new
from stillhere.operations.records import Converted, Hit, Message, Messages, Saved, Session
from stillhere.operations.saving import upserts
from stillhere.operations.sessions import MOST_READ, find_usable

# Characters.
MOST_OF_A_RESULT = 500
# Messages that `resume` prints.
NEWEST = 200
REMOVED = "a message with this id was removed, and no save restores it"


def save(given: Namespace) -> int:
    with _client(given) as client:
        sent = list(_sent(given, sys.stdin))
        if not sent:
            raise ValueError("standard input is empty: nothing is saved.")
        places = {str(message["id"]): place for place, message in sent}
        saved = _saved(client, given, [message for _, message in sent])
    removed = [{**each, "message": REMOVED} for each in saved.ignored if each["reason"] == "removed"]
    # By id: of two lines with one id the later is what is stored.
    stored = {each["id"] for each in (*saved.applied, *saved.ignored) if each.get("reason") != "removed"}
    unsaved = [*saved.rejected, *saved.conflicts, *removed]
    if given.json:
        _print_json(asdict(saved))
    else:
        where = f" in session {saved.session}" if saved.session else ": no session is created"
        print(f"{len(stored)} saved{where}", file=sys.stderr)
    for each in unsaved:
        named, index = str(each.get("id")), each.get("index")
        # An id that is no text is not in the answer.
        place = places.get(named) or (f"message {named}" if index is None else sent[index][0])
        print(f"stillhere: {each.get('message') or 'conflict'} ({place})", file=sys.stderr)
    return 1 if unsaved else 0


def resume(given: Namespace) -> int:
    with _client(given) as client:
        session = _session(client, given.session)
        if session is None:
            raise ValueError("there is no such session." if given.session else _why_none_is_current(client))
        items, are_all = _newest(client, session.id, given)
    if given.format:
        for item in items:
            _print_json(item)
    elif given.json:
        _print_json({"session": asdict(session), "messages": [asdict(message) for message in items]})
    else:
        print("\n\n".join([session.title or session.id, *map(_shown, items)]))
    if not are_all and given.limit is None:  # Below them, where a terminal shows it.
        sys.stdout.flush()
        print(f"stillhere: these are the newest {NEWEST} messages. `--all` prints the earlier ones too.", file=sys.stderr)
    return 0


def _newest(client: Client, session: str, given: Namespace) -> tuple[list[Any], bool]:
    """The newest messages, or objects of the format that is named, oldest first; and whether these are all."""
    found: list[Any] = []
    left, before = math.inf if given.all else NEWEST if given.limit is None else given.limit, None
    while True:
        asked = int(min(left, MOST_READ))
        page: Messages | Converted
        if given.format:
            page = client.read_as(session, given.format, limit=asked, before=before, repair=True)
        else:
            page = client.read_messages(session, limit=asked, before=before)
        found[:0] = page.items
        # A page may have fewer messages, and of some formats more objects than messages.
        left, before = left - min(asked, len(page.items) or asked), page.next
        if before is None or left <= 0:
            return found, before is None


def search(given: Namespace) -> int:
    """The exit code is 0 without a hit too."""
    left, cursor, found = given.limit, None, 0
    with _client(given) as client:
        while left > 0:
            page = client.search(
                given.text, within=given.within, everywhere=given.everywhere, limit=min(left, MOST_READ), cursor=cursor
            )
            for hit in page.items:
                _print_json(asdict(hit)) if given.json else _print_hit(given.url, hit, everywhere=given.everywhere)
            left, cursor, found = left - len(page.items), page.next, found + len(page.items)
            if cursor is None:
                break
    if not found:
        print("nothing is found", file=sys.stderr)
    return 0


def _client(given: Namespace) -> Client:
    """What only reads creates no project, as of a path that was mistyped. A save creates it with what is stored."""
    client = Client(given.url, None, given.project)
    client.connection.creates_project = False
    return client


def _sent(given: Namespace, lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each message with an id, and where it was read."""
    if not given.lines and not given.format:
        text = "".join(lines).rstrip("\n")
        if text.strip():
            yield "the text", {"id": str(uuid.uuid4()), "role": given.role, "text": text}
        return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number} is no JSON: {error}") from None
            if not isinstance(message, dict):
                raise ValueError(f"line {number} is no JSON object.")
            if not given.format and _is_empty(message):
                raise ValueError(f"line {number} has an empty text: nothing is saved.")
            whole = {"format": given.format, "raw": message} if given.format else message
            own_id = f", message {whole['id']}" if "id" in whole else ""
            yield f"line {number}{own_id}", {"id": str(uuid.uuid4()), **whole}


def _is_empty(message: dict[str, Any]) -> bool:
    """The server stores it all the same: of an answer that begins there may be no text yet."""
    text = message.get("text")
    is_blank = text is None or (isinstance(text, str) and not text.strip())
    return is_blank and "role" in message and "content" not in message and not message.get("parts")


def _saved(client: Client, given: Namespace, messages: Sequence[dict[str, Any]]) -> Saved:
    """In the session that is named, or the current one. One that there is not begins with its first message."""
    try:
        session = _session(client, given.session)
    except StillhereError as error:
        if error.code != NO_PROJECT:
            raise
        session = None
    if session is not None:
        return client.save(session.id, messages)
    new = save_in_new(upserts(messages), client.connection.project, external_id=given.session, title=given.title)
    try:
        return client.connection.run(new)
    except StillhereError as error:
        if error.code != "external_id_taken":  # Somebody else created it meanwhile.
            raise
        return client.save(error.details["session"], messages)


def _session(client: Client, external_id: str | None) -> Session | None:
    if external_id is not None:
        return client.connection.run(find_usable(external_id, external_id))
    current = client.get_project().current_session
    return None if current is None else client.get_session(current)


def _why_none_is_current(client: Client) -> str:
    """The frameworks' adapters make no session the current one."""
    newest = client.list_sessions(limit=1).items
    if not newest:
        return "nothing is saved in this project."
    own_id = newest[0].external_id
    named = f"Name one: `--session {shlex.quote(own_id)}` is the newest." if own_id else "Make one current on its page."
    return f"no session of this project is the current one. {named}"


def _shown(message: Message) -> str:
    tools = [f"[tool_call {part.get('name') or ''}]" for part in message.parts if part.get("type") == "tool_call"]
    results = [_shortened(part.get("output")) for part in message.parts if part.get("type") == "tool_result"]
    return f"{message.role}: {' '.join(filter(None, [message.text, *tools, *results]))}"


def _shortened(output: Any) -> str:
    """Of the result of a tool: its text, or its JSON."""
    blocks = output if isinstance(output, list) else [output]
    texts = [block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block for block in blocks]
    known = [text for text in texts if isinstance(text, str)]
    shown = "\n".join(known) if len(known) == len(texts) else json.dumps(output, ensure_ascii=False)
    return shown if len(shown) <= MOST_OF_A_RESULT else f"{shown[:MOST_OF_A_RESULT]}…"


def _print_hit(url: str, hit: Hit, *, everywhere: bool) -> None:
    text = " ".join(f"{hit.before}{hit.hit}{hit.after}".split())
    named = [hit.title, hit.project if everywhere or not hit.title else ""]
    excerpt = "" if text == " ".join((hit.title or "").split()) else f"  {text}\n"
    print(f"{hit.at}  {' · '.join(filter(None, named))}\n{excerpt}  {url.rstrip('/')}{hit.link}")


def _print_json(value: Any) -> None:
    print(json.dumps(value))
