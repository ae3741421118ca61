"""The whole of yardstick A: save one message, read the newest 200."""

from datetime import datetime

from django.http import HttpRequest
from django.urls import path
from ninja import NinjaAPI, Schema

from benchmarks.yardsticks.stock.models import Message

WINDOW = 200
api = NinjaAPI(docs_url=None)


class MessageIn(Schema):
    message_id: str
    role: str
    text: str


class MessageOut(MessageIn):
    id: int
    created_at: datetime


@api.post("/sessions/{session}/messages", response={201: MessageOut})
def save(request: HttpRequest, session: str, payload: MessageIn) -> tuple[int, Message]:
    return 201, Message.objects.create(session=session, **payload.model_dump())


@api.get("/sessions/{session}/messages", response=list[MessageOut])
def load(request: HttpRequest, session: str) -> list[Message]:
    newest = Message.objects.filter(session=session).order_by("-id")[:WINDOW]
    return list(reversed(newest))


urlpatterns = [path("", api.urls)]
