"""Objects of a framework. One that a message cannot hold is stored as JSON in pieces, and whole again when it is read."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stillhere.connection import Operation
from stillhere.http.json_texts import as_json, fits_json
from stillhere.operations.sessions import read_message

# What `objects_in` needs of a message.
FIELDS = ("format", "raw")
# The server takes 1,000,000 bytes of `raw` and `parts` in a message, 100,000 characters of text and 64 of an id.
MOST_BYTES, MOST_CHARACTERS, LONGEST_ID = 900_000, 100_000, 56
# Written as ASCII in another JSON text, a character may take two bytes.
PIECE_CHARACTERS = 440_000


def upserts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The operations that store `{id, role, text, format, raw, parts?}`. `parts` are left out if there is no room for them."""
    message = {**message, "text": message["text"][:MOST_CHARACTERS]}
    size = len(as_json(message["raw"])) if fits_json(message["raw"]) else None
    if size is not None and size <= MOST_BYTES:
        fits = size + len(as_json(message.get("parts"))) <= MOST_BYTES
        return [{"op": "upsert", **(message if fits else _without_parts(message))}]
    text = json.dumps(message["raw"])
    pieces = [text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS)]
    return [_piece(message, number, len(pieces), piece) for number, piece in enumerate(pieces)]


def objects_in(messages: Iterable[Mapping[str, Any]], format: str) -> Iterator[Any]:
    """Those of this format, in their order, from messages as the API has them. Messages of others are passed over, and so are an
    object that lacks a piece, and pieces that are left of a longer object that this one replaced."""
    begun: dict[str, tuple[int, list[str]]] = {}
    for message in messages:
        if message.get("format") == format:
            yield message["raw"]
        elif message.get("format") == format_of_pieces(format):
            piece = message["raw"]
            if piece["piece"] == 0:
                begun[piece["id"]] = piece["of"], []
            count, found = begun.get(piece["id"], (0, []))
            if piece["of"] != count or piece["piece"] != len(found):
                continue
            found.append(piece["json"])
            if len(found) == count:
                yield json.loads("".join(found))


def read_object(session: str, id: str, format: str, messages: int) -> Operation[Any]:
    """The one that `upserts_of` stored under this id in so many messages. Raises LookupError with the id of one that is gone."""
    found: list[Mapping[str, Any]] = []
    for own_id in [id, *(_id_of_piece(id, number) for number in range(1, messages))]:
        message = yield from read_message(session, own_id)
        if message is None:
            raise LookupError(own_id)
        found.append({"format": message.format, "raw": message.raw})
    for value in objects_in(found, format):
        return value
    raise LookupError(id)


def _piece(message: dict[str, Any], number: int, count: int, text: str) -> dict[str, Any]:
    own = {} if number == 0 else {"id": _id_of_piece(message["id"], number), "text": ""}
    raw = {"id": message["id"], "piece": number, "of": count, "json": text}
    return {"op": "upsert", **_without_parts(message), "format": format_of_pieces(message["format"]), "raw": raw, **own}


def _id_of_piece(id: str, number: int) -> str:
    return f"{id}.{number}"


def format_of_pieces(format: str) -> str:
    return f"{format}.piece"


def _without_parts(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "parts"}
