"""Files as responses, read and sent chunk by chunk at the client's pace. A slow client holds an open file and no thread."""

import asyncio

from config.http.request_log import RequestRecord
from sessions_app.core.web.file_response import FileBody

# A client that reads nothing for so long counts as disconnected.
STALLED_SECONDS = 60


async def send_file(exchange: RequestRecord, status: int, headers: list[tuple[bytes, bytes]], body: FileBody) -> None:
    """Raises ConnectionError if the client reads nothing any more."""
    try:
        await exchange.send({"type": "http.response.start", "status": status, "headers": headers})
        while chunk := await asyncio.to_thread(next, body, b""):
            async with asyncio.timeout(STALLED_SECONDS):
                await exchange.send({"type": "http.response.body", "body": chunk, "more_body": True})
        await exchange.send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        raise ConnectionError("the client takes nothing any more") from None
    finally:
        body.close()
