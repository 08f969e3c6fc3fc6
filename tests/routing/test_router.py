"""The calls of one step, as they are kept."""

import asyncio
from typing import Any

import pytest

from roomful.domain.arguments import Arguments
from roomful.domain.deltas import CallOpened, CallPiece
from roomful.domain.events import CallInput, TextDelta
from tests.routing.stepping import told


def test_a_call_with_text_behind_its_end_fails_in_its_own_place() -> None:
    opened = [CallOpened(index, "full", f"p{index}") for index in range(3)]
    whole = [CallPiece(index, '{"x":1}') for index in range(3)]
    more = [CallPiece(index, "{}") for index in range(2)]
    said, _ = asyncio.run(told([*opened, *whole, *more]))

    assert [(call.index, call.status) for call in said.calls] == [(0, "error"), (1, "error"), (2, "ready")]


def test_an_argument_without_a_name_is_seen_like_any_other() -> None:
    text = '{"targetSpaceId":"a","":"b"}'
    _, heard = asyncio.run(told([CallOpened(0, "draw", "p"), CallPiece(0, text)]))

    ops = [event.ops for one in heard if isinstance(event := one.event, CallInput)]
    assert ops == [[("set", "/", "b")]]


@pytest.mark.parametrize("before", ['{"spaceId":"a",', '{"text":"b","text":1,"spaceId":"a",'])
def test_what_comes_before_a_text_is_not_read_again_with_every_piece(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Any] = []
    read = Arguments.at
    monkeypatch.setattr(Arguments, "at", lambda self, mark: reads.append(mark) or read(self, mark))
    pieces = [before, '"mention":"', *("x" * 500), '","text":"', "hi", '"}']
    said, heard = asyncio.run(
        told([CallOpened(0, "say", "p"), *(CallPiece(0, piece) for piece in pieces)], active="a")
    )

    assert said.calls[0].space_ids == ["a"]
    assert "".join(event.delta for one in heard if isinstance(event := one.event, TextDelta)) == "hi"
    assert len(reads) == 1
