"""The chat page as a person uses it."""

import uuid
from collections.abc import Callable

from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat

TEXTS = "return [...document.querySelectorAll('[role=log] article .words')].map((part) => part.textContent.trim());"
READY = "return document.getElementById('chat')?.dataset.ready === '1';"
SESSION = "const link = document.getElementById('chat-session'); return link.hidden ? '' : link.href;"
STEP = "return document.querySelector('[aria-current=step]')?.dataset.step;"

# Past the module: whether this text is in IndexedDB.
STORED_DRAFT = """
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere-kept");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const all = opening.result.transaction("kept").objectStore("kept").getAll();
        all.onsuccess = () => { opening.result.close(); resolve(all.result.some(({ text }) => text === args[0])); };
      };
    });
"""


class ChatPage:
    def __init__(self, browser: Browser, url: str, project: str = "") -> None:
        self.browser, self.url = browser, url
        self.project = project or f"/home/alice/{uuid.uuid4()}"

    @property
    def address(self) -> str:
        return f"{self.url}/chat/?project={self.project}"

    def open(self) -> None:
        self.browser.open(self.address)
        self.ready()

    def ready(self) -> None:
        self.browser.until(READY)

    def say(self, text: str) -> None:
        self.browser.textbox("Message").send_keys(text)
        self.browser.click("Send")

    def texts(self) -> list[str]:
        texts: list[str] = self.browser.run(TEXTS)
        return texts

    def session(self) -> str:
        """The address of the session's own page, once it is linked: a new one has to be saved first."""
        return str(self.browser.until(SESSION))

    def step(self) -> str:
        return str(self.browser.run(STEP))

    def until(self, wanted: Callable[[list[str]], bool]) -> list[str]:
        seen: list[list[str]] = [[]]

        def look() -> bool:
            seen[0] = self.texts()
            return wanted(seen[0])

        try:
            wait_for(look)
        except AssertionError as error:
            error.add_note(f"seen: {seen[0]}, console: {self.browser.complaints()}")
            raise
        return seen[0]

    def until_answered(self, text: str) -> list[str]:
        return self.until(lambda texts: any(text in one for one in texts))

    def until_grown(self) -> None:
        """By itself: the last message has more words than now."""
        seen = self.texts()
        self.until(lambda texts: len(texts[-1]) > len(seen[-1]))

    def until_still(self) -> None:
        self.browser.until("return document.getElementById('chat-stop').hidden;")

    def press(self, name: str) -> None:
        self.browser.click(name)

    def until_draft_stored(self, text: str) -> None:
        self.browser.until(STORED_DRAFT, text)

    def reload_hard(self) -> None:
        self.browser.driver.execute_cdp_cmd("Page.reload", {"ignoreCache": True})
        self.ready()

    def stream(self) -> list[str]:
        """A long answer is under way, and something of it is shown."""
        self.say("count to 500")
        return self.until(lambda texts: texts[-2:-1] == ["count to 500"] and "1 2 3 4 5 6" in texts[-1])


def holds(now: list[str], shown: list[str]) -> bool:
    """All that was shown is there: the last answer may have grown."""
    return len(now) >= len(shown) and all(present.startswith(former) for present, former in zip(now, shown, strict=False))


def following(browser: Browser, url: str, agent: Chat) -> ChatPage:
    """The chat of an agent's session: it hears what happens there from now on, as it has heard the last message."""
    page = ChatPage(browser, url, agent.project)
    page.open()
    page.until_answered(agent.texts()[-1])
    agent.say("heard", "heard of")
    page.until_answered("heard of")
    return page
