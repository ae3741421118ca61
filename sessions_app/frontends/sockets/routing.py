"""Routing of sockets."""

from sessions_app.frontends.sockets.consumer import Message, Receive, Send, events_socket

EVENTS_PATH = "/ws/events/"


async def websocket_application(scope: Message, receive: Receive, send: Send) -> None:
    """Any other address is refused in the handshake (403)."""
    if scope["path"] == EVENTS_PATH:
        await events_socket(scope, receive, send)
    else:
        await receive()
        await send({"type": "websocket.close"})
