"""Texts of the sample store. All of it is invented."""

from typing import Any

Said = dict[str, Any]


def you(text: str) -> Said:
    return {"role": "user", "text": text}


def ai(text: str, **more: Any) -> Said:
    return {"role": "assistant", "text": text, **more}


CHAT = ("A shop for second-hand charts.", "My launch date is the second of May.", "What is my launch date?")

TWO_ANSWERS = [you("Which temple should I see first?"), ai("Start with Kinkaku-ji; it opens at nine.")]
OTHER_ANSWER = ai("Start at Fushimi Inari before breakfast: it never closes, and at six you have the gates to yourself.")

# Path, name, events a day over the last 7 days.
PROJECTS: list[tuple[str, str, list[int]]] = [
    ("/home/ana/harbour-shop", "Harbour shop", [3, 0, 0, 14, 11, 18, 6]),
    ("/home/ana/thesis", "Tides and towns (thesis)", [9, 2, 0, 0, 5, 7, 3]),
    ("/home/ana/garden-planner", "", [0, 0, 6, 2, 0, 4, 0]),
    ("/srv/agents/release-notes", "Release notes agent", [1, 1, 1, 1, 1, 0, 0]),
    ("/home/ana/kyoto", "Kyoto in spring", [0, 5, 3, 0, 1, 0, 0]),
    (
        "/home/ana/a/rather/deep/folder/of/experiments/with-streaming-parsers-and-their-benchmarks",
        "",
        [3, 0, 0, 0, 0, 0, 0],
    ),
]

_FIX = '''The cart is emptied **before** the order is written. Two things happen at once:

1. `POST /checkout` starts a transaction and reads the cart.
2. The stock worker times out and *releases* the same cart.

The order then has no lines, and the database refuses it. Lock the cart first:

```python
def check_out(cart_id: UUID) -> Order:
    """Turn a cart into an order, once."""
    with transaction.atomic():
        cart = Cart.objects.select_for_update().get(pk=cart_id)
        if not cart.lines.exists():
            raise EmptyCart(cart_id)  # Released meanwhile.
        order = Order.objects.create(customer=cart.customer)
        order.take_lines(cart)
    return order
```

| order of locks | before | after |
|---|---|---|
| checkout | stock, cart | cart, stock |
| stock worker | cart, stock | cart, stock |

> Both now take the cart first, so neither waits for the other.
'''

CHECKOUT: list[Said] = [
    you("The checkout fails now and then, always with an empty cart. Where would you look first?"),
    {
        "role": "assistant",
        "parts": [
            {
                "type": "reasoning",
                "text": "An empty cart at checkout: released, expired, or another session. Look at the log first.",
            },
            {
                "type": "tool-search_log",
                "state": "output-available",
                "input": {"query": "EmptyCart", "since": "24h"},
                "output": "12:04:11 cart 8f1c released by stock worker\n12:04:11 checkout 8f1c: no lines",
            },
            {
                "type": "text",
                "text": "Each failure comes right after a release by the **stock worker**. So it is a race, not a lost cookie.",
            },
        ],
    },
    you("Could it be the time-out? It was lowered to two minutes last week."),
    ai(_FIX),
    you("Good. Write the test first, please: two threads, one cart."),
    ai(
        "Here is one that fails on today's code:\n\n```python\ndef test_a_cart_is_checked_out_once(cart, both):\n"
        "    done = both(lambda: check_out(cart.id))\n    assert {type(each) for each in done} == {Order, EmptyCart}\n```\n\n"
        "It needs a real database; see <https://docs.example.org/testing/threads>.",
    ),
]

SESSIONS: list[tuple[str, str, list[Said]]] = [
    (
        "/home/ana/harbour-shop",
        "Prices with and without tax",
        [you("Which prices do we show to shops in Norway?"), ai("Without tax, and say so beside the sum.")],
    ),
    (
        "/home/ana/harbour-shop",
        "Invoice numbers without gaps",
        [
            you("May an invoice number be left out?"),
            ai("Not in most of Europe. Take the number **last**, in the transaction that writes the invoice."),
        ],
    ),
    ("/home/ana/harbour-shop", "", [you("ping"), ai("Still here.")]),
    (
        "/home/ana/harbour-shop",
        "A migration for eleven million order lines, in small steps, with the shop open and a way back at each",
        [
            you("How long would it lock the table?"),
            ai("Seven steps; none holds a lock for longer than 200 ms.", status="interrupted"),
        ],
    ),
    (
        "/home/ana/thesis",
        "Chapter 3: what the harbour books say",
        [
            you("Summarise the tonnage by decade."),
            ai("Between 1850 and 1880 it doubles twice; the second time within six years."),
        ],
    ),
    ("/home/ana/thesis", "Reading list", [you("Five books about tidal towns?"), ai("Begin with the two by Lindqvist.")]),
    (
        "/home/ana/garden-planner",
        "Beds for a wet spring",
        [
            you("The lower bed is under water until May."),
            ai("Raise it by 30 cm, or grow what likes it: watercress, mint, marsh marigold."),
        ],
    ),
    (
        "/srv/agents/release-notes",
        "0.9.2",
        [you("Write the notes for 0.9.2."), ai("- Saves are answered after the disk has them.\n- Two tabs elect one sender.")],
    ),
    (
        "/home/ana/kyoto",
        "Three days in April",
        [
            you("桜が満開の頃、三日間でどこを歩けばいいですか。"),
            ai("初日は哲学の道、二日目は嵐山、三日目は伏見。朝七時前に出れば、人は少ないです。"),
        ],
    ),
    (
        "/home/ana/a/rather/deep/folder/of/experiments/with-streaming-parsers-and-their-benchmarks",
        "simdjson or not",
        [you("Is it worth it?"), ai("At 200 bytes a line: no.")],
    ),
]

AGENT_STATE = {
    "plan": {
        "title": "One order for each cart",
        "steps": [
            {"id": "s1", "title": "Find the race in the log", "status": "completed"},
            {"id": "s2", "title": "Write a test that fails", "status": "completed"},
            {"id": "s3", "title": "Lock the cart before the stock", "status": "in_progress"},
            {"id": "s4", "title": "Raise the time-out to ten minutes", "status": "pending"},
        ],
    },
    "pending_action": {"id": "a1", "kind": "run_migration", "payload": {"name": "0042_cart_lock", "database": "staging"}},
}


def _call(number: int, name: str, **given: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"c{number}", "name": name, "input": given}]


def _result(number: int, output: str, *, failed: bool = False) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": f"c{number}", "content": output, "is_error": failed}]


# Role, content and second of each message.
TRACED: list[tuple[str, Any, int]] = [
    ("user", "Find out why the cart is empty at the checkout.", 0),
    ("assistant", _call(1, "bash", command="grep -rn release_cart shop/"), 4),
    ("user", _result(1, "shop/stock.py:88"), 9),
    ("assistant", _call(2, "read_file", path="shop/stock.py"), 14),
    ("user", _result(2, "…"), 15),
    ("assistant", "The stock worker releases a cart that is being paid.", 22),
    ("user", "Write a test that fails.", 60),
    ("assistant", _call(3, "edit_file", path="tests/test_checkout.py"), 66),
    ("user", _result(3, "done"), 67),
    ("assistant", _call(4, "bash", command="pytest -x tests/test_checkout.py"), 71),
    ("user", _result(4, "1 failed", failed=True), 98),
    ("assistant", "It fails as it should: two threads, one cart.", 104),
    ("user", "Good.", 130),
    ("assistant", "Next I lock the cart before the stock.", 133),
]
QUESTIONS = ["And in August?", "Never mind.", "What does it cost?"]
AI_STATE = {
    "todos": [
        {"content": "Read the stock worker", "status": "completed", "activeForm": "Reading the stock worker"},
        {"content": "Change the order of locks", "status": "in_progress", "activeForm": "Changing the order of locks"},
        {"content": "Ask for a review", "status": "pending", "activeForm": "Asking for a review"},
    ],
    "working_notes": "Both sides take the cart first. The worker releases a cart only if it is not locked.",
}

HANDOFF = {
    "decisions": [
        {"text": "The cart is locked before the stock", "rationale": "Both sides take it first, so neither waits for the other."},
        {
            "text": "Invoice numbers are taken last",
            "rationale": "In the transaction that writes the invoice.",
            "rejected": "A sequence: it leaves gaps.",
        },
    ],
    "files": [{"path": "shop/checkout.py", "note": "check_out()"}, {"path": "shop/stock/worker.py"}],
    "risks": [{"text": "The shop in Bergen still runs the old worker until Friday."}],
}
MEMORY = {
    ("baselines", "checkout"): {"p95_ms": 240, "requests": 1800, "status": {"200": 1794, "409": 6}},
    ("notes", "conventions"): {"money": "minor units", "time": "UTC", "tests": ["pytest -q", "make check"]},
    ("notes", "people"): {"ana": "shop", "lindqvist": "books"},
}
ERRORS = [
    ("EmptyCart: cart 8f1c has no lines", "EmptyCart", [{"function": "check_out", "file": "shop/checkout.py", "line": 41}], 7),
    (
        "Timeout after 2000 ms: GET https://rates.example.org/nok",
        "Timeout",
        [{"function": "rate", "file": "shop/rates.py", "line": 12}],
        3,
    ),
]
STACK = """Traceback (most recent call last):
  File "/srv/shop/.venv/lib/python3.13/site-packages/asgiref/sync.py", line 534, in thread_handler
    raise exc_info[1]
  File "/srv/shop/.venv/lib/python3.13/site-packages/django/core/handlers/exception.py", line 42, in inner
    response = await get_response(request)
  File "/srv/shop/checkout/views.py", line 88, in pay
    receipt = settle(cart)
  File "/srv/shop/checkout/settlement.py", line 31, in settle
    lines = gateway.lines(cart.id)
  File "/srv/shop/.venv/lib/python3.13/site-packages/gateway/client.py", line 212, in lines
    raise EmptyCart(message)
EmptyCart: no lines after the payment
"""
DURATIONS = {"POST /checkout": [180, 210, 240, 220], "GET /cart": [24, 22, 31, 27], "GET /invoices/{id}": [61, 64, 230, 250]}

CONTENT: list[dict[str, Any]] = [
    {
        "role": "user",
        "parts": [
            {
                "type": "text",
                "text": "Sum up [the notes](docs/notes.md) and these sales, see https://shop.example/report?week=47",
            },
            {
                "type": "file",
                "mediaType": "text/csv",
                "filename": "sales.csv",
                "url": "data:text/csv,week,total%0A46,1204%0A47,1377%0A",
            },
            {"type": "file", "mediaType": "image/jpeg", "filename": "shelf.jpg", "url": "https://img.example/shelf.jpg"},
        ],
    },
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "text": "Compare the weeks, then **check** the sum."},
            {"type": "tool-query", "state": "output-available", "input": {"week": 47}, "output": {"total": 1377}},
            {"type": "tool-query", "state": "output-error", "input": {"week": 48}, "errorText": "No figures for week 48"},
            {
                "type": "text",
                "text": "Growth follows $g = \\frac{b - a}{a}$, so[^1]:\n\n"
                "$$\ng = \\frac{1377 - 1204}{1204} \\approx 0.144\n$$\n\n"
                "- [x] Read the file\n- [ ] Wait for week 48\n\n| week | visitors | orders | total |\n|---|---|---|---|\n"
                "| 46 | 1,204,331 | 84,112 | 1,204,000.00 |\n| 47 | 1,377,902 | 91,455 | 1,377,000.00 |\n\n"
                "[^1]: Week 46 is the base.",
            },
            {"type": "source-url", "sourceId": "s1", "url": "https://shop.example/report", "title": "The shop's weekly report"},
        ],
    },
]

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("load_session_context", {}),
    ("session_search", {"query": "cart"}),
    ("error_record", {"message": "TimeoutError: the stock worker did not answer"}),
    ("ai_state_save", {"ai_id": "claude", "working_notes": "The lock comes before the stock."}),
    ("session_store", {"action": "load", "namespace": "notes", "key": "nothing-like-it"}),
    ("session_brief", {}),
]
