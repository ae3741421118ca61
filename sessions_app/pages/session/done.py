"""What a page's action tells its user."""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """`undo`: the reverse action; `of`: the session whose action that is, if it is another one. `page`: the page to go to, unless
    the form names one; default: stay. `failed`: the action was refused."""

    message: str
    undo: str = ""
    page: str = ""
    failed: bool = False
    of: uuid.UUID | None = None
