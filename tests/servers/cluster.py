"""Several gateways on one Postgres and one Redis, and what it takes to say whether they lost anything.

    with Cluster(folder, database=url, bus=redis.url) as house:
        ada = house.person("ada")           # the words of a Roomful, said to the first gateway
        ada.at(house.two).say("room", "hi") # the same person at the second one
        with Reader(ada, "room", house.gateways) as reader:
            ...                             # follows on at the next gateway whenever its stream ends

A `Ledger` notes what was asked and what was acknowledged.
"""

import contextlib
import itertools
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import httpx

from tests.http.test_delegation import same
from tests.servers.roomful import PATIENCE, Caller, Event, Roomful, View, lines_of, read_events

T = TypeVar("T")
NOTHING: Mapping[str, str] = {}
SHORT_LEASE = {"ROOMFUL_LEASE_SECONDS": "1"}


def eventually(found: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """Looks until it finds something true, and gives that."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.02)
    return value


class Cluster:
    """Gateways that share everything; each of them is a worker too."""

    def __init__(
        self,
        folder: Path,
        *,
        database: str,
        bus: str,
        environment: Mapping[str, str] = NOTHING,
        count: int = 2,
    ) -> None:
        self.gateways: list[Roomful] = []
        for number in range(1, count + 1):
            own = folder / f"gateway-{number}"
            own.mkdir(parents=True)
            self.gateways.append(Roomful(own, "--bus", bus, database=database, **environment))
        self._stack = contextlib.ExitStack()

    @property
    def one(self) -> Roomful:
        return self.gateways[0]

    @property
    def two(self) -> Roomful:
        return self.gateways[1]

    @property
    def admin(self) -> Caller:
        return self.one.admin

    def person(self, entity_id: str) -> Caller:
        return self.one.person(entity_id)

    def space(self, space_id: str, *members: str, **more: Any) -> str:
        return self.one.space(space_id, *members, **more)

    def agent(self, agent_id: str, model: Any, *tools: Any, **more: Any) -> str:
        return self.one.agent(agent_id, model, *tools, **more)

    def other(self, gateway: Roomful) -> Roomful:
        """Another one than this, and one that runs."""
        return next(one for one in self.gateways if one is not gateway and one.is_running)

    def logs(self) -> str:
        return "\n".join(f"--- {gateway.url}\n{gateway.log.read_text()}" for gateway in self.gateways)

    def __enter__(self) -> Self:
        """All of them start at once, on an empty database too."""
        for gateway in self.gateways:
            self._stack.push(gateway)
        try:
            with ThreadPoolExecutor(len(self.gateways)) as pool:
                list(pool.map(Roomful.start, self.gateways))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class Door(Protocol):
    """A gateway, or a way to one."""

    @property
    def url(self) -> str: ...


class Reader:
    """One who reads a space at whichever gateway answers and resumes by the id of the last event. What was
    read is folded; a delta that does not fit what was read before it is a failure."""

    def __init__(self, caller: Caller, space_id: str, gateways: Sequence[Door], **params: str) -> None:
        self.space_id = space_id
        self.caller = caller
        self.events: list[Event] = []
        self.connections = 0
        self._gateways = itertools.cycle(gateways)
        self._params = params
        self._view = View()
        self._last: str | None = None
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._response: httpx.Response | None = None
        self._thread = threading.Thread(target=self._follow, name=f"reader of {space_id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait(lambda _: self.connections, "the reader's first stream")
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._hang_up()
        self._thread.join(PATIENCE)

    def wait(self, found: Callable[[list[Event]], T], what: str, seconds: float = PATIENCE) -> T:
        with self._changed:
            came = self._changed.wait_for(lambda: self._failure or found(self.events), seconds)
            if self._failure is not None:
                raise self._failure
            assert came, f"{what}: not within {seconds:g} s; what came: {[e.name for e in self.events][-60:]}"
            return found(self.events)

    def wait_for(self, name: str, count: int = 1, **fields: Any) -> Event:
        def found(events: list[Event]) -> Event | None:
            hits = [e for e in events if e.name == name and fields.items() <= e.data.items()]
            return hits[count - 1] if len(hits) >= count else None

        event = self.wait(found, f"{name} {fields}")
        assert event is not None
        return event

    def state(self) -> list[dict[str, Any]]:
        with self._changed:
            if self._failure is not None:
                raise self._failure
            return json.loads(json.dumps(self._view.state()))

    def _follow(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(httpx.HTTPError, OSError):
                self._read(next(self._gateways))
            self._closing.wait(0.05)

    def _read(self, gateway: Door) -> None:
        headers = {"authorization": f"Bearer {self.caller.token}", "accept": "text/event-stream"}
        if self._last is not None:
            headers["last-event-id"] = self._last
        url = f"{gateway.url}/api/spaces/{self.space_id}/stream"
        with (
            httpx.Client(timeout=PATIENCE, verify=False) as client,
            client.stream("GET", url, headers=headers, params=self._params) as response,
        ):
            self._response = response
            if response.status_code != 200 or self._closing.is_set():
                return
            with self._changed:
                self.connections += 1
                self._changed.notify_all()
            for event in read_events(lines_of(response.iter_bytes())):
                self._take(event)

    def _take(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._last = event.id or self._last
            try:
                self._view.apply(event)
            except BaseException as failure:  # noqa: BLE001 - the test's thread raises it
                self._failure = self._failure or failure
            self._changed.notify_all()

    def _hang_up(self) -> None:
        """Ends the read in the other thread."""
        stream = self._response.extensions.get("network_stream") if self._response is not None else None
        sock = stream.get_extra_info("socket") if stream is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def alike(who: Caller, space_id: str, gateways: Sequence[Roomful], *readers: Reader) -> list[dict[str, Any]]:
    """Every gateway shows the same, and that is what these readers made of what they were told. Asked when
    nothing is said any more; what is still on its way to somebody gets the time to come."""

    def pages() -> list[list[dict[str, Any]]]:
        return [who.at(gateway).messages(space_id, limit=200) for gateway in gateways]

    def views() -> list[list[dict[str, Any]]]:
        return [reader.state() for reader in readers if reader.space_id == space_id]

    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        first, *others = [*pages(), *views()]
        if all(other == first for other in others):
            return first
        time.sleep(0.05)
    first, *others = [*pages(), *views()]
    for number, other in enumerate(others, 1):
        same(other, first, f"{space_id}: {'gateway' if number < len(gateways) else 'reader'} {number}")
    return first


@dataclass
class Asked:
    """One message that somebody sent."""

    who: Caller
    space_id: str
    key: str
    text: str
    acknowledged: dict[str, Any] | None = None


@dataclass
class Ledger:
    """Whoever asks here asks once; what was not acknowledged may have been stored or not. `again` asks for
    it with the same key until it is, as a client does."""

    gateways: Sequence[Roomful]
    asked: list[Asked] = field(default_factory=list[Asked])
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def say(self, who: Caller, space_id: str, text: str) -> Asked:
        entry = Asked(who, space_id, f"key-{next(self._numbers)}-{who.id}", text)
        self.asked.append(entry)
        self._send(entry, who.house)
        return entry

    def again(self, entry: Asked) -> dict[str, Any]:
        def acknowledged() -> dict[str, Any] | None:
            for gateway in [one for one in self.gateways if one.is_running]:
                if entry.acknowledged is None:
                    self._send(entry, gateway)
            return entry.acknowledged

        return eventually(acknowledged, f"{entry.text!r} is acknowledged")

    def check(self) -> None:
        """Nothing acknowledged is lost, nothing is there twice, and asking again changes that for nothing."""
        self._compare()
        before = {entry.key: entry.acknowledged for entry in self.asked}
        for entry in self.asked:
            entry.acknowledged = None
            answer, known = self.again(entry), before[entry.key]
            assert known is None or known["message"]["id"] == answer["message"]["id"], entry
            assert known is None or known["runs"] == answer["runs"], entry
        self._compare()

    def _compare(self) -> None:
        for space_id, who in {entry.space_id: entry.who for entry in self.asked}.items():
            for gateway in [one for one in self.gateways if one.is_running]:
                stored = who.at(gateway).messages(space_id, limit=200)
                assert [message["seq"] for message in stored] == list(range(1, len(stored) + 1)), space_id
                kept = Counter(m["clientMessageId"] for m in stored if "clientMessageId" in m)
                for entry in [entry for entry in self.asked if entry.space_id == space_id]:
                    least = 0 if entry.acknowledged is None else 1
                    assert least <= kept[entry.key] <= 1, f"{entry} is there {kept[entry.key]} times"

    def _send(self, entry: Asked, gateway: Roomful) -> None:
        body = {"text": entry.text, "clientMessageId": entry.key}
        with contextlib.suppress(httpx.TransportError):
            answer = entry.who.at(gateway).request("POST", f"/api/spaces/{entry.space_id}/messages", body)
            assert answer.status_code in (201, 503), answer.text
            if answer.status_code == 201:
                entry.acknowledged = answer.json()
