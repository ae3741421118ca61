"""Changes whose callers were cancelled: the server may get them later than what follows."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError

# Refusals that pass by waiting, or by another key.
_PASSING = {401, 403, 408, 429}


class Unanswered:
    """Requests that may be sent again, as those of `once`."""

    def __init__(self) -> None:
        self._requests = deque[Request]()

    def noting[T](self, operation: Operation[T]) -> Operation[T]:
        """The operation, whose request is kept if nobody waits for the answer any more."""
        step: Callable[[], Request] = partial(next, operation)
        while True:
            try:
                request = step()
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                answer = yield request
            except GeneratorExit:
                self._requests.append(request)
                raise
            except StillhereError as error:
                step = partial(operation.throw, error)
            else:
                step = partial(operation.send, answer)

    def complete(self) -> Operation[None]:
        """Before what follows. Each is the same request, so its later arrival does nothing: else it would come behind what is
        added now, or be there after a clear."""
        while self._requests:
            request = self._requests[0]
            try:
                yield request
            except StillhereError as error:
                if not 400 <= error.status < 500 or error.status in _PASSING:
                    raise
            with suppress(ValueError):  # Another call did it too.
                self._requests.remove(request)
