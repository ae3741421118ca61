"""Reads the command line and runs what it names."""

import argparse
import os
import sys
from collections.abc import Sequence

from stillhere.cli import commands, transfer
from stillhere.cli.mcp import serve
from stillhere.cli.streams import end_of_reader, use_streams
from stillhere.errors import StillhereError
from stillhere.http.settings import project_name

KEY_VARIABLE = "STILLHERE_KEY"
EPILOG = f"The API key is read from {KEY_VARIABLE}, never from an argument, which other users of this machine could see."


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 if the server refused or did not answer. Wrong arguments end the program with 2."""
    use_streams()
    parser = _parser()
    given = parser.parse_args(arguments)
    for name in ("url", "project"):
        if getattr(given, name) is not None and not getattr(given, name).strip():
            parser.error(f"--{name} is empty. Leave it out for the usual one.")
    given.url = given.url or os.environ.get("STILLHERE_URL")
    try:
        given.project = project_name(given.project or os.environ.get("STILLHERE_PROJECT", "").strip() or ".")
    except FileNotFoundError:
        parser.error("which project? The working directory does not exist any more. Pass --project.")
    if not given.url:
        parser.error("which server? Pass --url, or set STILLHERE_URL.")
    if not os.environ.get(KEY_VARIABLE):
        parser.error(f"which key? Set {KEY_VARIABLE}.")
    try:
        code: int = given.run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        return end_of_reader()
    except (StillhereError, OSError, ValueError) as error:
        print(f"stillhere: {_told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _told(error: Exception) -> str:
    """Without the details of a refusal, which are for programs."""
    return f"{error.status or ''} {error.code}: {error.message}".lstrip() if isinstance(error, StillhereError) else str(error)


def _parser() -> argparse.ArgumentParser:
    first, shared = _shared(None), _shared(argparse.SUPPRESS)
    parser = argparse.ArgumentParser(prog="stillhere", description="Chats of a Stillhere server.", epilog=EPILOG, parents=[first])
    known = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (_add_save, _add_resume, _add_search, _add_import, _add_mcp):
        add(known, shared)
    return parser


def _shared(default: str | None) -> argparse.ArgumentParser:
    """Options before and after the command. `default`: after it, what is left out does not replace what stands before it."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--url", default=default, help="the server (default: STILLHERE_URL)")
    shared.add_argument("--project", default=default, help="its path or id (default: STILLHERE_PROJECT, else this folder)")
    shared.add_argument("--json", action="store_true", default=default or False, help="print JSON, one object a line")
    return shared


type _Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def _add_save(known: _Commands, shared: argparse.ArgumentParser) -> None:
    about = "Save what standard input has: one text, or a message a line."
    parser = known.add_parser("save", parents=[shared], help=about, description=about)
    parser.add_argument(
        "--session", metavar="ID", help="your own id of a session, created if there is none (default: the current)"
    )
    parser.add_argument("--title", default="", help="of a session that is created")
    parser.add_argument("--role", default="user", help="whose text it is (default: user)")
    parser.add_argument("--lines", action="store_true", help='a JSON object a line: {"role": …, "text": …}')
    parser.add_argument("--format", help="lines are messages of a framework: openai.chat, anthropic, …")
    parser.set_defaults(run=commands.save)


def _add_resume(known: _Commands, shared: argparse.ArgumentParser) -> None:
    about = "Print the conversation to continue from."
    parser = known.add_parser("resume", parents=[shared], help=about, description=about)
    parser.add_argument("--session", metavar="ID", help="your own id of a session (default: the current)")
    parser.add_argument("--format", help="print messages of a framework, one JSON object a line: openai.chat, anthropic, …")
    most = parser.add_mutually_exclusive_group()
    most.add_argument("--limit", type=_count, help=f"how many of the newest messages (default: {commands.NEWEST})")
    most.add_argument("--all", action="store_true", help="all messages")
    parser.set_defaults(run=commands.resume)


def _add_search(known: _Commands, shared: argparse.ArgumentParser) -> None:
    about = "Search titles and messages, newest first."
    parser = known.add_parser("search", parents=[shared], help=about, description=about)
    parser.add_argument("text", type=_words)
    parser.add_argument("--in", dest="within", default="titles,messages", help="of titles,messages,memory,handoff,errors")
    parser.add_argument("--everywhere", action="store_true", help="in all projects")
    parser.add_argument("--limit", type=_count, default=20)
    parser.set_defaults(run=commands.search)


def _words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty. Name what to search for.")
    return text


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError("it is a whole number of at least 1.")
    return count


def _add_import(known: _Commands, shared: argparse.ArgumentParser) -> None:
    about = "Import a file that a Stillhere server exported. What is there already stays as it is."
    parser = known.add_parser("import", parents=[shared], help=about, description=about)
    parser.add_argument("file", help="- is standard input")
    parser.add_argument("--dry-run", action="store_true", help="only tell what it would add")
    parser.set_defaults(run=transfer.import_file)


def _add_mcp(known: _Commands, shared: argparse.ArgumentParser) -> None:
    about = "Serve one agent by the Model Context Protocol at standard input and output."
    parser = known.add_parser("mcp", parents=[shared], help=about, description=about)
    parser.add_argument("--agent", default="", help="the agent's name, which pages and other runs show")
    parser.set_defaults(run=serve)
