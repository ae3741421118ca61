"""A page with `useStillhereChat`, as a test drives it."""

from typing import Any

from tests.browser.driving import Browser

# An answer that ends at once was perhaps never seen to begin; the page shows it a moment after it ended.
SAY = """
  const [id, text, more] = args;
  window.said = false;
  void chats[id].sendMessage({ text, ...more }).finally(() => setTimeout(() => { window.said = true; }, 100));
"""
IDLE = "return ['ready', 'error'].includes(chats[args[0]].status);"


class ChatPage:
    """`options`: of its chat. What is called `id` here is the chat's id, or its `name` if it has none."""

    def __init__(self, browser: Browser, url: str, options: dict[str, Any]) -> None:
        self.browser, self.url, self.options = browser, url, options

    def open(self, *others: dict[str, Any], strict: bool = True, **options: Any) -> None:
        """(Re)load the page, with this chat and those that differ from it in `others`."""
        self.options |= options
        self.browser.open(f"{self.url}/")
        self.browser.until("return window.ready === true;")
        self.show({}, *others, strict=strict)

    def show(self, *chats: dict[str, Any], strict: bool = True) -> None:
        listed = [{**self.options, **chat} for chat in chats]
        self.browser.run("show(args[0], { strict: args[1] });", listed, strict)
        for chat in listed:
            self.browser.until("return chats[args[0]]?.loaded === true;", chat.get("name") or chat["id"])

    def say(self, text: str, *, id: str = "a", wait: bool = True, **more: Any) -> None:
        self.browser.run(SAY, id, text, more)
        if wait:
            self.browser.until("return window.said || chats[args[0]].status !== 'ready';", id)
            self.idle(id)

    def idle(self, id: str = "a") -> None:
        self.browser.until(IDLE, id)

    def call(self, code: str, *arguments: Any, id: str = "a") -> Any:
        """With `chat`, what the hook returned."""
        return self.browser.run(f"const chat = chats[args[0]]; {code}", id, *arguments)

    def until(self, code: str, *arguments: Any, id: str = "a") -> Any:
        return self.browser.until(f"const chat = chats[args[0]]; {code}", id, *arguments)

    def messages(self, id: str = "a") -> list[Any]:
        found: list[Any] = self.call("return JSON.parse(JSON.stringify(chat.messages));", id=id)
        return found

    def texts(self, id: str = "a") -> list[str]:
        return [text_of(message) for message in self.messages(id)]

    def shown(self) -> list[str]:
        """What is painted."""
        found: list[str] = self.browser.run("return [...document.querySelectorAll('li')].map((item) => item.textContent);")
        return found

    def settle(self, id: str = "a") -> None:
        self.until("return chat.connection.settled(8000);", id=id)

    def errors(self) -> list[str]:
        found: list[str] = self.browser.run("return window.errors;")
        return found


def text_of(message: Any) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")
