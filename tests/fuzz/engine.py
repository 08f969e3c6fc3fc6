"""Inputs made by chance, each of its own seed: whatever is found can be had again by one command.

A target makes an input and checks what the product does with it. Its check returns what became of the input
in one word, and the words that it promises must come up: a check that refuses everything proves nothing.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from types import TracebackType
from typing import Any, NamedTuple, Self

LONGEST = 5.0
"""Seconds of the processor that one input may take: above it, it hangs."""
SHOWN = 4000
SEED = int(os.environ.get("ROOMFUL_FUZZ_SEED", "0"))
TIMES = float(os.environ.get("ROOMFUL_FUZZ_TIMES", "1"))
"""Of the inputs that a target is tried with."""


class Target(NamedTuple):
    name: str
    make: Callable[[Random], Any]
    check: Callable[[Any], str]
    words: frozenset[str]
    """What becomes of inputs: each of these at least once in a hundred."""
    short: int
    long: int
    """How many inputs there are in `make test`, and in `make test-long`."""


def target(
    name: str,
    make: Callable[[Random], Any],
    check: Callable[[Any], str],
    words: Iterable[str],
    *,
    short: int,
    long: int,
) -> Target:
    return Target(name, make, check, frozenset(words), short, long)


def refused(why: str, word: str = "refused") -> str:
    """For what a check caught: whoever is refused is told why."""
    assert why.strip(), "refused without a word"
    return word


def chance_of(name: str, seed: int, number: int) -> Random:
    return Random(f"{name} {seed} {number}")


def fuzz(of: Target, count: int, seed: int = SEED) -> Counter[str]:
    """Tries so many inputs, and tells what became of how many of them."""
    tally: Counter[str] = Counter()
    for number in range(round(count * TIMES)):
        tally[try_one(of, seed, number)] += 1
    return tally


def try_one(of: Target, seed: int, number: int) -> str:
    with _Telling(of.name, seed, number) as telling:
        telling.given = of.make(chance_of(of.name, seed, number))
        began = time.process_time()
        word = of.check(telling.given)
        took = time.process_time() - began
        assert took < LONGEST, f"one input took {took:.1f} s of the processor"
    return word


def check_words(of: Target, tally: Counter[str]) -> None:
    rare = {word for word in of.words if tally[word] * 100 < tally.total()}
    assert not rare, f"{of.name}: {sorted(rare)} hardly came up: {dict(tally)}"


class _Telling:
    """Says how to have the input again, whatever ends its check: also a time limit of the whole test."""

    def __init__(self, name: str, seed: int, number: int) -> None:
        self.given: Any = None
        self._again = f"python -m tests.fuzz {name} {seed} {number}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            text = repr(self.given)
            more = f"… ({len(text)} characters)" if len(text) > SHOWN else ""
            print(f"again: {self._again}\ninput: {text[:SHOWN]}{more}")
