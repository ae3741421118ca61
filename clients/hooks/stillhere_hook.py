"""Shared by the hooks: what the client says on standard input, and a server that may be away.

Python 3.9 or newer, without dependencies. A hook never fails: it exits with 0 within a few seconds, and says on one line of
standard error what it could not do.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
import uuid
from collections import deque
from urllib.parse import quote

# Of one request. The client waits for a hook.
SECONDS = 3
MOST_MESSAGES = 200
MOST_CHARACTERS = 100_000
# Of one request, as JSON: what the server reads and stores within those seconds, and far below what it takes at most.
MOST_BYTES = 1_000_000
# The server's limits.
LONGEST_MESSAGE_ID = 64
LONGEST_EXTERNAL_ID = 128
ROLES = ("user", "assistant")


class Away(Exception):
    """The server does not answer, or refuses. The text says which; `code`: that of the refusal."""

    def __init__(self, reason, code=""):
        super().__init__(reason)
        self.code = code


class Server:
    """The API with the key of STILLHERE_KEY, at STILLHERE_URL."""

    def __init__(self):
        self.url = os.environ.get("STILLHERE_URL", "http://127.0.0.1:8000").rstrip("/") + "/api/v1"
        self.key = os.environ.get("STILLHERE_KEY", "")
        if not self.key:
            raise Away("set STILLHERE_KEY to an API key")

    def call(self, method, path, body=None, **headers):
        """The answer, an object. Raises Away."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=SECONDS) as answer:
                found = _parsed(answer.read())
        except urllib.error.HTTPError as error:
            code, message = _reason(error)
            raise Away(f"the server answered {error.code}: {message}", code) from None
        except (OSError, ValueError) as error:
            raise Away(f"the server does not answer ({type(error).__name__})") from None
        if not isinstance(found, dict):
            raise Away(f"the answer of {self.url} is not Stillhere's")
        return found


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key must not be sent elsewhere."""

    def redirect_request(self, *arguments):
        return None


def run(work):
    """`work(server, event)`: `event` is what the client says. Its text, if any, is printed. Always exits with 0."""
    try:
        event = read_event()
        said = work(Server(), event)
        if said:
            print(said)
    except Away as reason:
        _complain(reason)
    except Exception as error:  # A hook must not stop the agent, whatever happens.
        _complain(f"the hook failed ({type(error).__name__})")
    sys.exit(0)


def read_event():
    """One JSON object of standard input; empty if there is none."""
    try:
        found = json.loads("" if sys.stdin.isatty() else sys.stdin.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def project_of(event):
    """The path that names the project: STILLHERE_PROJECT, or the folder that the agent works in.

    Of one folder nobody means two projects: `/home/ana/shop/` is `/home/ana/shop`, as at `/mcp`.
    """
    path = os.environ.get("STILLHERE_PROJECT") or str(event.get("cwd") or os.getcwd())
    return path.rstrip("/") or "/" if path.startswith("/") else path


def project_id(server, event):
    """Makes the project if there is none."""
    return server.call("POST", "/projects", {"path": project_of(event)})["id"]


def save_messages(server, event):
    """Saves the newest messages of the client's transcript into a session of the same id. Returns their number.

    Saving again changes nothing: the messages keep their ids.
    """
    messages = read_transcript(str(event.get("transcript_path") or ""))
    name = str(event.get("session_id") or "")
    if not messages or not name:
        return 0
    if len(name) > LONGEST_EXTERNAL_ID:
        name = "sha256:" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    path = "/projects/{}/sessions/by-external/{}".format(project_id(server, event), quote(name, safe="", errors="replace"))
    session = server.call("PUT", path, {})
    session = session.get("session", session)
    numbered = {"epoch": session["epoch"], "writer_id": str(uuid.uuid4())}
    rejected = []
    for number, some in enumerate(requests_of(messages), start=1):
        answer = server.call("POST", "/sessions/{}/changes".format(session["id"]), {**numbered, "seq": number, "ops": some})
        rejected += answer["rejected"]
    if rejected:
        raise Away(f"the server did not store {len(rejected)} of {len(messages)} messages: {rejected[0]['message']}")
    return len(messages)


def requests_of(messages):
    """The messages in lists that fit into one request each, in their order."""
    some, size = [], 0
    for message in messages:
        length = len(json.dumps(message))
        if some and size + length > MOST_BYTES:
            yield some
            some, size = [], 0
        some.append(message)
        size += length
    yield some


def read_transcript(path):
    """Upserts of the newest messages with text. Lines that are something else are left out."""
    messages = deque(maxlen=MOST_MESSAGES)
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                message = read_line(line)
                if message:
                    messages.append(message)
    except OSError:
        return []
    return list(messages)


def read_line(line):
    """One line of a transcript as an upsert, or None."""
    try:
        row = json.loads(line)
        message = row["message"]
        role, content, name = message["role"], message["content"], row["uuid"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    text = content if isinstance(content, str) else _text_of(content)
    if role not in ROLES or not isinstance(name, str) or not text.strip():
        return None
    if len(name) > LONGEST_MESSAGE_ID:
        name = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    return {"op": "upsert", "id": name, "role": role, "text": text[:MOST_CHARACTERS]}


def _text_of(parts):
    if not isinstance(parts, list):
        return ""
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _parsed(content):
    """None: it is no JSON."""
    try:
        return json.loads(content)
    except ValueError:
        return None


def _reason(error):
    """The code and the message of a refusal."""
    try:
        said = json.loads(error.read())["error"]
        return said["code"], said["message"]
    except (OSError, ValueError, KeyError, TypeError):
        return "", "no reason given"


def _complain(reason):
    print("Stillhere: " + " ".join(str(reason).split()).rstrip(".") + ". The agent goes on without it.", file=sys.stderr)
