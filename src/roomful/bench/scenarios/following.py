"""Arguments followed while they grow."""

import json
import time
from collections.abc import Callable
from typing import Final, TypeVar

from roomful.bench.figures import Figure, at_most, median
from roomful.bench.stage import Stage
from roomful.routing.scanner import ArgumentScanner

T = TypeVar("T")
FRAGMENT: Final = 20
TIMES: Final = 5
STEADY: Final = 1.5
"""What a character may cost more in a text ten times as long: more would not be linear."""


async def arguments(stage: Stage) -> list[Figure]:
    size = stage.sizes.argument_characters
    order, shorter, text = _order(size), _order(size // 10), _text(size)
    many, few = await stage.by_turns((order, shorter), _each_followed)
    return [
        await _against_parsing(stage, f"arguments of {size // 1000} KB followed as they grow", order),
        await _against_parsing(stage, f"one text of {size // 1000} KB followed as it grows", text),
        Figure(
            f"a character of {size // 1000} KB against one of {size // 10_000}",
            "ns",
            median(many) * 1e9,
            median(few) * 1e9,
            at_most(STEADY),
        ),
    ]


async def _against_parsing(stage: Stage, what: str, text: str) -> Figure:
    fragments = _fragments(text)
    followed, parsed = await stage.by_turns(
        (lambda: _seconds(_follow, fragments), lambda: _seconds(json.loads, text)), _called
    )
    return Figure(what, "ms", median(followed) * 1000, median(parsed) * 1000, at_most(12))


async def _each_followed(text: str) -> float:
    """Seconds for one character."""
    return _seconds(_follow, _fragments(text)) / len(text)


def _order(characters: int) -> str:
    """Arguments of every kind of value, about so long."""
    each = {"name": "chair", "price": 12.5, "inStock": True, "note": 'oak, "old"\n' + "x" * 60}
    count = max(1, characters // len(json.dumps(each)) // 2)
    items = [{**each, "number": number} for number in range(count)]
    order = {"targetSpaceId": "finance", "title": 'The "big" order', "items": items, "text": ""}
    order["text"] = "word " * ((characters - len(json.dumps(order))) // 5)
    return json.dumps(order)


def _text(characters: int) -> str:
    """What agents write most: words and hardly anything else, which no parser looks at closely."""
    return json.dumps({"spaceId": "finance", "text": "word " * (characters // 5)})


def _fragments(text: str) -> list[str]:
    return [text[at : at + FRAGMENT] for at in range(0, len(text), FRAGMENT)]


def _follow(fragments: list[str]) -> None:
    scanner = ArgumentScanner()
    for fragment in fragments:
        if not scanner.more(fragment):
            scanner.feed(fragment)
    scanner.finish()


def _seconds(work: Callable[[T], object], given: T) -> float:
    """Of the processor, the least of some tries."""
    took = list[float]()
    for _ in range(TIMES):
        began = time.process_time_ns()
        work(given)
        took.append((time.process_time_ns() - began) / 1e9)
    return min(took)


async def _called(work: Callable[[], float]) -> float:
    return work()
