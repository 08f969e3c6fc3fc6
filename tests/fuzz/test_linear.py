"""Arguments of ten megabytes, however they come: every character is looked at a few times, not more."""

import pytest

from roomful.routing.scanner import MAX_CHARACTERS, ArgumentScanner, Closed, Token
from tests.routing.counting import SHAPES, Counter


def last_token(text: str, size: int) -> Token:
    scanner, last = ArgumentScanner(), None
    for at in range(0, len(text), size):
        for token in scanner.feed(text[at : at + size]):
            last = token
    assert last is not None
    return last


def check(shape: str, length: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SHAPES[shape](length)
    assert 0.8 * length < len(text) <= MAX_CHARACTERS
    counter = Counter(monkeypatch)
    counter.begin()

    assert last_token(text, size) == Closed()
    counter.check(len(text), len(text) // size + 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_megabyte_in_large_pieces(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(shape, 1_000_000, 65_536, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("size", [40, 1_000_000, MAX_CHARACTERS])
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_megabytes(shape: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(shape, 10_000_000, size, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("shape", ["one string", "all escapes", "one nested string", "brackets"])
def test_ten_megabytes_one_character_after_the_other(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(shape, 10_000_000, 1, monkeypatch)
