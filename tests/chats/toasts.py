"""What a page says after a form was sent, and the address of the Undo that it offers."""

import re
from html import unescape
from typing import Any

from django.test import Client

TOAST = re.compile(r'class="toast[^"]*"><span>(.*?)</span>(?:<form method="post" action="([^"]+)")?', re.DOTALL)


def toast(page: Client, reply: Any) -> tuple[str, str]:
    assert reply.status_code == 302, reply.content
    [(said, address)] = TOAST.findall(page.get(reply["Location"]).content.decode())
    return unescape(said), unescape(address)
