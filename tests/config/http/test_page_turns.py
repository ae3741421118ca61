"""Pages of one login are built a few at a time; nobody else waits for them, and what nobody waits for is not built."""

import asyncio
from typing import Any

import pytest
from django.conf import settings

from config.server.waiting.page_turns import AT_ONCE, PageTurns, login_of

HOME = "/sessions/1/"


def scope_of(login: str = "anas", path: str = HOME, method: str = "GET") -> dict[str, Any]:
    cookie = f"csrftoken=x; {settings.SESSION_COOKIE_NAME}={login}".encode()
    return {"type": "http", "method": method, "path": path, "headers": [(b"cookie", cookie)] if login else []}


class View:
    """One request, and the building of its page, which goes on until `built`."""

    def __init__(self, turns: PageTurns, login: str = "anas") -> None:
        self.left, self.began, self.built, self.taken = (asyncio.Event() for _ in range(4))
        self.asked = False
        self.task = asyncio.create_task(turns({**scope_of(login), "view": self}, self.receive, self.send))

    async def receive(self) -> Any:
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.taken.wait()


async def build(scope: Any, receive: Any, send: Any) -> None:
    assert (await receive())["type"] == "http.request"
    scope["view"].began.set()
    await scope["view"].built.wait()
    await send({"type": "http.response.start"})
    await send({"type": "http.response.body"})


async def begun(views: list[View]) -> list[bool]:
    await asyncio.sleep(0.01)
    return [view.began.is_set() for view in views]


async def end(*views: View) -> None:
    for view in views:
        view.built.set()
        view.taken.set()
    await asyncio.gather(*(view.task for view in views))


def test_pages_of_one_login_are_built_in_turn_and_nobody_else_waits() -> None:
    async def views_come() -> None:
        turns = PageTurns(build)
        anas = [View(turns) for _ in range(AT_ONCE + 2)]
        ben = View(turns, "bens")
        assert await begun(anas) == [True] * AT_ONCE + [False] * 2
        assert await begun([ben]) == [True]
        await end(anas[1])
        assert await begun(anas) == [True] * (AT_ONCE + 1) + [False]
        await end(*anas, ben)
        assert all(await begun(anas))

    asyncio.run(views_come())


def test_a_page_whose_browser_has_left_before_its_turn_is_not_built() -> None:
    async def views_come() -> None:
        turns = PageTurns(build)
        views = [View(turns) for _ in range(AT_ONCE + 2)]
        await begun(views)
        views[AT_ONCE].left.set()
        await views[AT_ONCE].task
        await end(views[0])
        assert await begun(views[AT_ONCE:]) == [False, True]
        await end(*views[:AT_ONCE], views[-1])

    asyncio.run(views_come())


def test_a_page_that_its_browser_does_not_take_holds_up_no_other_one() -> None:
    async def views_come() -> None:
        turns = PageTurns(build)
        views = [View(turns) for _ in range(2 * AT_ONCE)]
        await begun(views)
        for view in views[:AT_ONCE]:
            view.built.set()
        assert all(await begun(views))
        await end(*views)

    asyncio.run(views_come())


def test_a_request_that_is_cancelled_takes_no_turn() -> None:
    async def views_come() -> None:
        turns = PageTurns(build)
        views = [View(turns) for _ in range(AT_ONCE + 2)]
        await begun(views)
        views[0].built.set()
        views[0].taken.set()
        views[AT_ONCE].task.cancel()
        await asyncio.gather(views[0].task, views[AT_ONCE].task, return_exceptions=True)
        assert await begun(views[-1:]) == [True]
        await end(*views[1:AT_ONCE], views[-1])
        again = [View(turns) for _ in range(AT_ONCE)]
        assert all(await begun(again))
        await end(*again)

    asyncio.run(views_come())


@pytest.mark.parametrize(
    ("scope", "taken"),
    [
        (scope_of(), True),
        (scope_of(path="/"), True),
        (scope_of(login=""), False),
        (scope_of(method="POST"), False),
        (scope_of(path="/api/v1/projects"), False),
        (scope_of(path="/static/css/base.css"), False),
    ],
)
def test_what_is_a_page(scope: dict[str, Any], taken: bool) -> None:
    assert PageTurns(build).takes(scope) is taken


def test_a_login_is_the_one_that_django_reads() -> None:
    name = settings.SESSION_COOKIE_NAME
    scope = {**scope_of(), "headers": [(b"cookie", f"{name}=junk".encode()), (b"cookie", f'{name}="anas"'.encode())]}
    assert login_of(scope) == login_of(scope_of()) == "anas"
