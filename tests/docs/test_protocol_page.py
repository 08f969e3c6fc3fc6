"""The page of the protocol and the code say the same: routes, events, errors, keys and limits."""

import json
from typing import Any, get_args

import msgspec
import pytest

from roomful.bus.channel import LAG_BYTES, LAG_EVENTS
from roomful.domain.blobs import BLOB_LIMIT
from roomful.domain.events import CallCompleted, CallInput, RunChanged, SpaceEvent
from roomful.domain.runs import RunStatus
from roomful.domain.wire import EVENT_LIMIT, Form, event_name
from roomful.settings import Settings
from roomful.spaces.history import Snapshot
from roomful.web.ask import AnyRoute
from roomful.web.bodies import BODY_LIMIT, HISTORY_LIMIT, NESTING_LIMIT
from roomful.web.feeds.following import StreamQuery
from roomful.web.problems import STATUS
from roomful.web.table import TABLE
from tests.docs.pages import DOCS, Page, codes

PAGE = Page(DOCS / "protocol.md")
ROUTES = {f"{route.method} {route.path}": route for route in TABLE}
MIB, KIB = 1024 * 1024, 1024


def _fields(type: Any) -> list[str]:
    if not hasattr(type, "__struct_fields__"):
        return []
    return [f"{one.encode_name}{'' if one.required else '?'}" for one in msgspec.structs.fields(type)]


def _takes(route: AnyRoute) -> list[str]:
    asked = [f"?{name.rstrip('?')}" for name in _fields(route.query)]
    return [*_fields(route.body), *asked]


def test_the_page_has_every_route_with_all_that_it_takes() -> None:
    shown = {codes(row[0])[0]: (codes(row[1]), row[2]) for row in PAGE.table("route", "takes")}
    assert shown == {
        name: (_takes(route), f"{route.status}{', a stream' if route.streams else ''}")
        for name, route in ROUTES.items()
    }


def test_the_page_has_every_route_that_takes_a_key() -> None:
    keyed = {name for name, route in ROUTES.items() if route.keeps_key or route.reads_key}
    assert set(PAGE.names("takes a key")) == keyed


def test_the_page_has_every_event_with_its_fields() -> None:
    shown = {tuple(codes(row[0])): codes(row[1]) for row in PAGE.table("event", "data")}
    events: dict[tuple[str, ...], list[str]] = {
        (event.type,): _fields(event)
        for event in get_args(SpaceEvent)
        if event not in (RunChanged, CallInput)
    }
    assert shown == {
        **events,
        (CallInput.type,): ["toolCallId", "partialArgs?", "ops?"],
        tuple(_run_events()): _fields(RunChanged),
        ("snapshot",): [name.rstrip("?") for name in _fields(Snapshot)],
        ("draining",): ["retryMs"],
    }


def _run_events() -> list[str]:
    told = [RunChanged("team", "run_1", "shop", status).type for status in get_args(RunStatus)]
    return list(dict.fromkeys(told))


def test_the_page_has_every_way_to_ask_for_a_stream() -> None:
    assert {name.split("=")[0] for name in PAGE.names("parameter", "does")} == {"args", "events"}
    assert {name.rstrip("?") for name in _fields(StreamQuery)} == {"args", "events", "lastEventId"}
    done = CallCompleted("team", "msg_1", "prt_1", "run_1", "call_1", "search")
    assert f"`{event_name(done, Form.V1)}`" in PAGE.text


def test_a_frame_of_the_page_has_the_fields_of_its_event() -> None:
    [frame] = PAGE.blocks("frame")
    told = dict(line.split(": ", 1) for line in frame.splitlines())
    [event] = [one for one in get_args(SpaceEvent) if one.type == told["event"]]
    assert [*json.loads(told["data"])] == _fields(event)


def test_the_page_has_every_code_with_its_status() -> None:
    shown = {codes(row[0])[0]: int(row[1]) for row in PAGE.table("code", "status")}
    assert shown == {**STATUS, "internal": 500}


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("a body", f"{BODY_LIMIT // MIB} MiB; {HISTORY_LIMIT // MIB} MiB"),
        ("a blob", f"{BLOB_LIMIT // MIB} MiB"),
        ("nesting of JSON", f"{NESTING_LIMIT}"),
        ("an event", f"{EVENT_LIMIT // KIB} KiB"),
        ("posts, answers, uploads and searches of a token", f"{Settings().limit_posts} in a second"),
        ("posts in a space", f"{Settings().space_posts} in a second"),
        ("open streams of an entity", f"{Settings().limit_streams} "),
        ("wrong tokens from an address", f"{Settings().limit_wrong_tokens} in a minute"),
        ("a reader's lag", f"{LAG_EVENTS} events or {LAG_BYTES // MIB} MiB"),
    ],
)
def test_a_limit_is_as_the_page_says(limit: str, value: str) -> None:
    shown = {row[0]: row[1] for row in PAGE.table("limit", "value")}
    assert shown[limit].startswith(value)
