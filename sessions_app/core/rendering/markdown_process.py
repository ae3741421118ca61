"""The process that renders Markdown: `python -m sessions_app.core.rendering.markdown_process`.

It reads a line of `[text, of_user]` per text, as JSON, and writes a line of `{"html", "cpu"}`; no `html`: the text took too
long. Code that cannot be interrupted ends the process by the kernel's timer. It loads no Django, no settings and no database.
"""

import gc
import json
import os
import resource
import socket
import time

from sessions_app.core.rendering.cpu_limits import OutOfTime, end_process_after
from sessions_app.core.rendering.markdown import to_html

# More than the limits in `to_html` together plus the time to load a language and the converter of formulas.
KILL_SECONDS = 0.45
MEMORY_BYTES = 512 * 1024 * 1024
# Lower priority than saves.
NICENESS = 10


def answer(text: str, of_user: bool) -> dict[str, str | float | None]:
    began = time.process_time()
    end_process_after(KILL_SECONDS)
    try:
        html = to_html(text, of_user=of_user)
    # Nesting deeper than Python's stack, lone surrogates, no memory: such a text is shown as it is.
    except (OutOfTime, Exception):
        html = None
    end_process_after(0)
    return {"html": html, "cpu": time.process_time() - began}


def main() -> None:
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    gc.freeze()
    with socket.socket(fileno=0) as channel, channel.makefile("rwb") as lines:
        for line in lines:
            lines.write(json.dumps(answer(*json.loads(line))).encode() + b"\n")
            lines.flush()


if __name__ == "__main__":
    main()
