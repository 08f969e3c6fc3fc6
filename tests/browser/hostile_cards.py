"""Tool calls that want to run something or to take something away, by the card that draws them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.browser.hostile import MARKUP, PIXEL, SVG_PAGE, armed, case

Acts = Literal["shows", "gives", "asks", "needs consent"]
"""Shows its arguments; has a result of its own; waits for somebody's answer; runs only with consent."""

EVIL = "<img src=x onerror=RUN>"
LINK = "[a](javascript:RUN) ![a](AWAY/a.png) AWAY/"
URLS = (
    "javascript:RUN",
    "AWAY/a.png",
    "//AWAY_HOST/a.png",
    "\\\\AWAY_HOST\\a.png",
    PIXEL,
    SVG_PAGE,
    "data:text/html,<script>RUN</script>",
    "/api/blobs/../../a",
    "/api/blobs/%2e%2e%2fsession",
    "/api/blobs/x?to=AWAY",
    "/api/blobs/x\nAWAY",
    "/api/session",
    "blob:AWAY/0000",
    "x onerror=RUN",
    "",
)
TRAPS = (
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "then",
    "$$typeof",
    "dangerouslySetInnerHTML",
)
STRANGE: tuple[Any, ...] = (None, True, 0, -1.5, "", [], {}, [[]], [None], {"a": None}, [EVIL], {"a": EVIL})
ELEMENT = {
    "$$typeof": "Symbol(react.transitional.element)",
    "type": "script",
    "props": {"dangerouslySetInnerHTML": {"__html": "<script>RUN</script>"}},
    "key": None,
    "ref": None,
}


@dataclass(frozen=True)
class CardCase:
    ui: str
    args: str
    """JSON as a model streams it."""
    acts: Acts = "shows"
    result: Any = None
    number: int = 0
    kind: str = ""
    is_refused: bool = False
    """The gateway makes no part of it."""

    @property
    def tool(self) -> str:
        return f"case_{self.number}"

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}: {self.args[:160]} {json.dumps(self.result)[:160]}"


def _made(ui: str, args: Any, acts: Acts = "shows", result: Any = None) -> CardCase:
    return CardCase(ui, args if isinstance(args, str) else json.dumps(args), acts, result)


def approval_forms() -> Iterator[CardCase]:
    for value in (EVIL, LINK, "Approved by Grace \u00b7 14:05", "\u202e000,1", *STRANGE):
        fields = dict.fromkeys(("title", "amount", "currency", "description", "vendor"), value)
        yield _made("ApprovalForm", fields, "asks")
    yield _made("ApprovalForm", {"amount": 1e308, "currency": "<b>"}, "asks")
    yield _made("ApprovalForm", {"amount": 1, "currency": "zzz", "": "x", " ": EVIL}, "asks")
    yield _made("ApprovalForm", {"title": "A" * 5_000, "description": "\n" * 5_000 + "x"}, "asks")


def product_cards() -> Iterator[CardCase]:
    for url in URLS:
        yield _made("ProductCard", {"name": EVIL, "price": 1, "image": url, "description": LINK}, "asks")
    for value in STRANGE:
        keys = ("name", "price", "currency", "image", "rating", "description")
        yield _made("ProductCard", dict.fromkeys(keys, value))


def charts() -> Iterator[CardCase]:
    numbers: tuple[Any, ...] = (
        [1e308, -1e308],
        [1e308, 1e308, 1e308],
        [5e-324, 0],
        [1e300, 1.0000000000000002e300],
        [9007199254740992, 9007199254740994],
        [-0.3, -0.30000000000000004],
        [0, 0],
        [-1, -2],
        [1],
        ["NaN", "Infinity", "1e999", "0x10", ""],
        [{"label": EVIL, "value": 1}, {"label": LINK, "value": "2"}],
        [{"__proto__": 1, "constructor": 2, "value": "3"}],
        {"__proto__": 1, "constructor": 2, "a": 3},
        [[EVIL, 1], [None, 2], [{}, 3], []],
        [ELEMENT],
        EVIL,
    )
    for data in numbers:
        for drawn in ("bar", "line", "pie"):
            yield _made("Chart", {"type": drawn, "title": EVIL, "unit": EVIL, "data": data})
    yield replace(_made("Chart", '{"type": "line", "data": [1e400, -1e400, 1]}'), is_refused=True)
    yield _made("Chart", {"type": "__proto__", "data": list(range(10_000))})
    yield _made("Chart", {"type": "pie", "data": [{"label": "x" * 5_000, "value": n} for n in range(100)]})
    for value in STRANGE:
        yield _made("Chart", dict.fromkeys(("type", "title", "unit", "data"), value))


def image_results() -> Iterator[CardCase]:
    for url in URLS:
        yield _made("ImageResult", {"prompt": EVIL}, "gives", {"success": True, "images": [{"url": url}]})
        yield _made("ImageResult", {"prompt": LINK}, "gives", {"imageUrl": url})
    yield _made("ImageResult", {"prompt": "x"}, "gives", {"images": [*URLS, *STRANGE, ELEMENT]})
    for value in STRANGE:
        yield _made("ImageResult", {"prompt": value}, "gives", {"url": value, "error": EVIL})


def tables() -> Iterator[CardCase]:
    columns: list[Any] = [*TRAPS, EVIL]
    yield _made("Table", {"columns": columns, "rows": [[EVIL] * 8, dict.fromkeys(columns, LINK)]})
    yield _made("Table", {"rows": [dict.fromkeys(columns, "javascript:RUN"), "x", 1, None, []]})
    yield _made(
        "Table", {"columns": [{"key": "__proto__", "label": EVIL}], "rows": [{"__proto__": {"a": 1}}]}
    )
    yield _made("Table", {"title": EVIL, "rows": [{"n": n, "t": EVIL} for n in range(10_000)]})
    yield _made("Table", {"rows": [{f"k{n}": n for n in range(500)}]})
    yield _made(
        "Table", {"columns": [None, {}, [], {"key": None}, {"key": {}}], "rows": [ELEMENT, [ELEMENT]]}
    )
    for value in STRANGE:
        yield _made("Table", dict.fromkeys(("title", "columns", "rows"), value))


def polls_and_choices() -> Iterator[CardCase]:
    options: list[Any] = [EVIL, LINK, "javascript:RUN", *TRAPS, "same", "same", "\u202eon", "on\u200b"]
    described = [
        {"value": each, "label": each, "description": EVIL} for each in (*options, *STRANGE, ELEMENT)
    ]
    for ui in ("Poll", "Choice"):
        yield _made(ui, {"question": EVIL, "options": options}, "asks")
        yield _made(ui, {"question": LINK, "options": described, "multiple": True}, "asks")
        yield _made(ui, {"question": "x", "options": [f"o{n}" for n in range(1_000)]}, "asks")
        for value in STRANGE:
            yield _made(ui, dict.fromkeys(("question", "options", "multiple"), value), "asks")


def pickers() -> Iterator[CardCase]:
    for bound in (
        '2026-11-20" onfocus=RUN',
        "2026-99-99",
        "0000-00-00",
        "9999-12-31T99:99",
        EVIL,
        "-1",
        *STRANGE,
    ):
        for time in (True, False):
            asked = {"question": EVIL, "min": bound, "max": bound, "time": time}
            yield _made("DatePicker", asked, "asks")
        asked = {"question": EVIL, "accept": bound, "multiple": bound}
        yield _made("FilePicker", asked, "asks")
    files = [{"url": url, "name": EVIL, "mediaType": "image/png", "size": "x"} for url in URLS]
    yield _made("FilePicker", {"question": "x"}, "gives", {"files": [*files, *STRANGE]})
    yield _made("DatePicker", {"question": "x"}, "gives", {"date": EVIL})
    yield _made("DatePicker", {"question": "x"}, "gives", {"date": "9999-99-99T99:99"})


DEEP = 60


def _nested(depth: int) -> str:
    return '{"a":' * depth + json.dumps(EVIL) + "}" * depth


def generic_cards() -> Iterator[CardCase]:
    for name in (*TRAPS, "Unknown", EVIL, "javascript:RUN", "\u202e", " ", "constructor.prototype"):
        yield _made(name, {"text": EVIL, "__proto__": {"polluted": True}, "constructor": {"prototype": 1}})
    yield replace(_made("Unknown", _nested(500)), is_refused=True)
    yield _made("Unknown", _nested(DEEP))
    yield _made("Unknown", '{"a":' + "[" * DEEP + "]" * DEEP + "}")
    yield _made("Unknown", {"text": "<b>" * 350_000})
    yield _made("Unknown", {"A" * 60_000: "x", "a" * 60_000: EVIL, "_" * 1_000: 1})
    yield _made("Unknown", {f"key{n}": n for n in range(3_000)})
    yield _made("Unknown", {trap: {trap: [{trap: EVIL}] * 3} for trap in TRAPS})
    yield _made("Unknown", {"list": [*STRANGE, ELEMENT, *TRAPS]}, "gives", [*STRANGE, ELEMENT])
    yield _made("Unknown", {"image": "AWAY/a.png", "photo": "//AWAY_HOST/a", "logo": SVG_PAGE, "url": "AWAY"})
    yield _made("Unknown", {"n": 10**30, "id": 2**63, "x": -0.0, "tiny": 5e-324, "zip": 1e308})
    for url in URLS:
        yield _made("Unknown", {"image": url, "file": {"mediaType": "image/png", "url": url}}, "gives", url)
    for value in (*STRANGE, *MARKUP[:12]):
        yield _made("Unknown", {"x": value}, "gives", value)
        yield _made("Unknown", {"x": value}, "asks")


HIDDEN = (
    "\u202e", "\u202d", "\u2066", "\u2067", "\u2069", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad",
    "\u061c", "\u3164", "\u115f", "\ufe0f", "\u180e", "\U000e0041", "\U000e0100", "\U0001d173", "\U0001bca0",
    "\u2028", "\x85",
)  # fmt: skip
"""Characters that nobody sees, or that turn what stands behind them."""


def gates() -> Iterator[CardCase]:
    for number, hidden in enumerate(HIDDEN):
        yield _made("ApprovalForm" if number % 2 else "Unknown", {"to": f"AC{hidden}ME"}, "needs consent")
    lies = (
        EVIL,
        LINK,
        'ACME",\n  "amount": 1',
        "ACME" + "\n" * 300 + "and 1,000,000 to EVE",
        "ACME" + " " * 3_000 + "and 1,000,000 to EVE",
        "Approved by Grace \u00b7 14:05",
        "\u0410\u0421\u041c\u0415",
        "</pre><button>Approve</button>",
    )
    for lie in lies:
        yield _made("ProductCard", {"to": lie}, "needs consent")
    for trap in TRAPS:
        yield _made(trap, {trap: "1,000,000 to EVE", "amount": 1}, "needs consent")
    yield _made("Unknown", _nested(DEEP), "needs consent")


_CLASSES = {
    "ApprovalForm": approval_forms,
    "ProductCard": product_cards,
    "Chart": charts,
    "ImageResult": image_results,
    "Table": tables,
    "Poll and Choice": polls_and_choices,
    "pickers": pickers,
    "GenericCard": generic_cards,
    "ApprovalGate": gates,
}


def _numbered(kind: str, card: CardCase) -> CardCase:
    number = case(kind, "").number
    result = json.loads(armed(json.dumps(card.result), number))
    return replace(
        card,
        kind=kind,
        number=number,
        ui=armed(card.ui, number),
        args=armed(card.args, number),
        result=result,
    )


def cards() -> dict[str, list[CardCase]]:
    return {kind: [_numbered(kind, card) for card in make()] for kind, make in _CLASSES.items()}
