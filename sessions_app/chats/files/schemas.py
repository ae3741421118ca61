from datetime import datetime

from ninja import Schema
from pydantic import Field

FILE: str = Field(description="What a part of a message names as `file`.", examples=["sha256:" + "9f" * 32])


class FileOut(Schema):
    file: str = FILE
    name: str
    media_type: str = Field(description="An image's by its content, any other's as it was declared.")
    size_bytes: int


class ListedFile(FileOut):
    created_at: datetime


class FileList(Schema):
    items: list[ListedFile]
    next: str | None
