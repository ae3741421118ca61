"""Which addresses in a message are links. Separate from the renderer, so that the server's process does not load it."""

import re

# Anything else (a relative path, a fragment) refers to the file that the message is about, not to this server.
ELSEWHERE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
