"""The calls of one step, as they are kept."""

import asyncio

from roomful.domain.deltas import CallOpened, CallPiece
from roomful.domain.events import CallInput
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
