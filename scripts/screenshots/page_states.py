"""States of pages that no address has: a dialog, a menu, ticked rows, no connection. A script in the page makes each."""

from typing import NamedTuple

_CLICK = "document.querySelector({!r})?.click();"
# A dialog that is filled by the server, or by a request.
_SOON = "await new Promise((resolve) => setTimeout(resolve, 900));"

_PALETTE = """
    document.querySelector("[data-palette]").click();
    const field = document.querySelector("dialog.palette input");
    field.value = "cart";
    field.dispatchEvent(new Event("input", { bubbles: true }));
"""
_KEYS = 'document.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));'
_TICKED = 'for (const box of [...document.querySelectorAll(".tick input")].slice(0, 2)) box.click();'
# The chat notices that the server is away when it asks for something.
_ASKED = """
    document.getElementById("chat-new").click();
    const notices = document.getElementById("chat-notices");
    for (let at = 0; at < 60 && !notices.textContent; at += 1) await new Promise((resolve) => setTimeout(resolve, 100));
"""
# As if three messages had been written without the server a while ago.
_WAITING = """
    const { accountScope } = await import("/static/js/stillhere/util.js");
    const account = document.querySelector(".frame").dataset.user;
    const scope = `${accountScope(location.origin, account)}:${encodeURIComponent("garden")}`;
    const texts = ["When do I sow the broad beans?", "And the peas?", "Move the compost to the north side, please."];
    const database = await new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere", 1);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = reject;
    });
    const queue = database.transaction("queue", "readwrite").objectStore("queue");
    texts.forEach((text, at) => queue.put({
      key: `example ${at}`, scope, writer: "example", seq: at + 1, at: Date.now() - 600_000 + at,
      body: { ops: [{ op: "upsert", id: `q${at}`, role: "user", text }] },
    }));
    database.close();
    const button = document.getElementById("waiting-open");
    for (let at = 0; at < 50 && button.hidden; at += 1) await new Promise((resolve) => setTimeout(resolve, 100));
"""
_WAITING_LIST = f"{_WAITING} button.click();"
_INSIDE = """
    const file = new File([await (await fetch(`/api/v1/sessions/${args[0]}/export`)).blob()], "shop.ndjson");
    const given = new DataTransfer();
    given.items.add(file);
    const input = document.querySelector("#import input[type=file]");
    input.files = given.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    [...document.querySelectorAll("#import button")].find(({ textContent }) => textContent.includes("Look inside")).click();
"""
CLEAN_UP = """
    const gone = (name) => new Promise((resolve) => {
      const opening = indexedDB.open(name, 1);
      opening.onerror = resolve;
      opening.onsuccess = () => {
        const { result } = opening;
        if (!result.objectStoreNames.contains("queue")) return resolve(result.close());
        const writing = result.transaction("queue", "readwrite");
        writing.objectStore("queue").delete(IDBKeyRange.bound("example", "example~"));
        writing.oncomplete = () => resolve(result.close());
      };
    });
    await gone("stillhere");
"""


class PageState(NamedTuple):
    """`page`: the name of a page. `offline`: the connection is cut before the script runs."""

    page: str
    script: str
    offline: bool = False


STATES = {
    "palette": PageState("projects", _PALETTE + _SOON),
    "shortcuts": PageState("session", _KEYS + _SOON),
    "menu": PageState("projects", _CLICK.format(".menu-button")),
    "sessions-ticked": PageState("sessions", _TICKED),
    "all-sessions-filters": PageState("all-sessions", _CLICK.format(".folds-rest > summary")),
    "session-details": PageState("session", _CLICK.format(".rail-open")),
    "session-lightbox": PageState("session-parts", _CLICK.format(".attachment.picture img") + _SOON),
    "session-transfer": PageState("session", _CLICK.format("#rail-transfer") + _SOON),
    "import-inside": PageState("import", _INSIDE + _SOON),
    "chat-drawer": PageState("chat", _CLICK.format(".chat-sessions-open") + _SOON),
    "chat-offline": PageState("chat", _ASKED, offline=True),
    "waiting": PageState("projects", _WAITING),
    "waiting-list": PageState("projects", _WAITING_LIST),
}
