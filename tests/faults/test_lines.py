"""A line that breaks anywhere, is closed on one side or hardly read: nothing is lost, nothing comes twice."""

import asyncio
import contextlib
import json
import random
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from roomful.client import pausing
from roomful.domain.answers import Snapshot
from tests.client.watching import check_no_gap, client_of, compare, ended, run, state, until
from tests.http.shopping import PRODUCT_CARD, seen
from tests.load.measuring import figure
from tests.servers.breaking import Breaking, Place, after
from tests.servers.cluster import Reader, eventually
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, Piece, call, hold, text
from tests.servers.roomful import (
    PATIENCE,
    Caller,
    Event,
    Listener,
    Roomful,
    fold,
    lines_of,
    openai,
    read_events,
)

WORDS = "Grüße 🚀 von 👩🏽‍🚀, e\u0301 und नि,\u2028\u0085bis 🏕️ ganz ans Ende"
CARD = {"name": "Zelt ⛺ für zwei 👩🏽‍🚀", "price": 12.5}
DELTA = rb"event: text-delta\n"
INPUT = rb"event: tool-input-delta\n"

PLACES: dict[str, list[Place]] = {
    "in the headers": [after(rb"\r\ncontent-")] * 2,
    "in a chunk's length": [after(rb"\r\n[0-9a-f]+\r", times) for times in (2, 1, 1)],
    "in an id": [after(rb"id: [^\n]{6}", times) for times in (1, 2, 9)],
    "between id and event": [after(rb"id: [^\n]+\n", times) for times in (1, 2, 9)],
    "between event and data": [after(DELTA, times) for times in (1, 2, 9)],
    "in the name of data": [after(DELTA + rb"da", times) for times in (1, 2, 9)],
    "in data": [after(DELTA + rb"data: [^\n]{20}", times) for times in (1, 2, 9)],
    "in an emoji": [after(rb"\xf0\x9f", times) for times in (1, 1, 2, 2)],
    "in a combining character": [after(rb"e\xcc")] * 2,
    "before the blank line": [after(DELTA + rb"data: [^\n]+\n", times) for times in (1, 2, 9)],
    "after the blank line": [after(DELTA + rb"data: [^\n]+\n\n", times) for times in (1, 2, 9)],
    "in arguments": [after(INPUT + rb"data: [^\n]{20}")] * 2,
    "after arguments": [after(INPUT + rb"data: [^\n]+\n\n")],
}
SEEDS = range(3)
OPEN = "roomful_streams_open"


def cuts_of(seed: int) -> list[int]:
    dice = random.Random(seed)
    return [dice.randrange(1500) for _ in range(10)]


CUTS = [
    *(pytest.param(places, id=name) for name, places in PLACES.items()),
    *(pytest.param(cuts_of(seed), id=f"seed {seed}") for seed in SEEDS),
]


@dataclass
class Hall:
    """Where a poet writes, a character at a time, when told to."""

    house: Roomful
    model: FakeOpenAI
    ada: Caller
    spaces: int = 0

    def new_space(self) -> str:
        self.spaces += 1
        return self.house.space(f"hall-{self.spaces}", "ada", "poet")

    def tell(self, space_id: str, whole: Listener) -> str:
        """Lets the poet write all of it; `whole` is an undisturbed reader. The run that did it."""
        run_id: str = self.ada.say(space_id, f"a poem for {space_id}")["runs"][0]["runId"]
        for count in range(1, len(WORDS) + 1):
            self.model.release()
            whole.wait_for("text-delta", count)
        whole.wait_for("run.completed", runId=run_id)
        return run_id


def poem(asked: Asked) -> Answer:
    if asked.messages[-1]["role"] == "tool":
        return Answer(text("Done."))
    space_id = re.findall(r"a poem for ([\w-]+)", str(asked.messages))[-1]
    head = json.dumps({"spaceId": space_id, "text": ""}).removesuffix('"}')
    said = call("sendSpaceMessage", head + WORDS + '"}', splits=[len(head)], size=1)
    pieces: list[Piece] = [*said[:2]]
    for piece in said[2 : 2 + len(WORDS)]:
        pieces += [hold(), piece]
    card = call("showProductCard", CARD, index=1, id="b", size=2)
    return Answer([*pieces, *said[2 + len(WORDS) :], *card])


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    folder = tmp_path_factory.mktemp("hall")
    with FakeOpenAI(poem) as model, Roomful(folder) as house:
        ada = house.person("ada")
        house.agent("poet", openai(model.base_url), PRODUCT_CARD, dialect="composite")
        yield Hall(house, model, ada)


def told(events: list[Event]) -> list[Event]:
    return [event for event in events if event.name != "snapshot"]


AS_SEEN = [WORDS, ("showProductCard", CARD, None)]


@pytest.mark.parametrize("resets", [False, True], ids=["FIN", "RST"])
@pytest.mark.parametrize("cuts", CUTS)
def test_a_reader_that_resumes_by_the_last_id_gets_what_an_undisturbed_one_gets(
    hall: Hall, cuts: list[int | Place], resets: bool
) -> None:
    space_id = hall.new_space()

    def read(broken: Breaking) -> None:
        with hall.ada.listen(space_id) as whole, Reader(hall.ada, space_id, [broken]) as reader:
            reader.wait_for("snapshot")
            hall.tell(space_id, whole)
            reader.wait(lambda events: told(events) == told(whole.events), "everything, once")
            assert reader.state() == hall.ada.messages(space_id, limit=200)
            assert seen(reader.state()[-1]) == AS_SEEN

    async def watch() -> None:
        async with Breaking(hall.house.port, cuts, resets=resets) as broken:
            await asyncio.to_thread(read, broken)
            assert broken.breaks == len(cuts)

    run(watch())


@pytest.mark.parametrize("cuts", CUTS)
def test_the_client_comes_back_by_itself_and_has_the_page(
    hall: Hall, cuts: list[int | Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pausing, "FIRST", 0.02)
    space_id = hall.new_space()

    async def watch() -> None:
        with hall.ada.listen(space_id) as whole:
            async with (
                Breaking(hall.house.port, cuts) as broken,
                client_of(hall.ada, url=broken.url) as client,
                client.follow(space_id) as space,
            ):
                telling = asyncio.create_task(asyncio.to_thread(hall.tell, space_id, whole))
                happened = await until(space, ended())
                await telling
                assert broken.breaks == len(cuts)
                assert not any(isinstance(event, Snapshot) for event in happened)
                check_no_gap(happened, {})
                await compare(space, hall.ada)
                assert seen(state(space)[-1]) == AS_SEEN

    run(watch())


def ask(hall: Hall, method: str, path: str, body: bytes = b"", **headers: str) -> socket.socket:
    """A request, byte by byte our own, on a socket that holds little of what comes."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(PATIENCE)
    sock.connect(("127.0.0.1", hall.house.port))
    given = {"Host": "localhost", "Authorization": f"Bearer {hall.ada.token}", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    sock.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
    return sock


def rest(sock: socket.socket) -> bytes:
    """What comes until the line is closed or reset."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while data := sock.recv(65536):
            said += data
    return said


def whole_events(said: bytes) -> list[Event]:
    """Those of a stream that was cut somewhere."""
    body = b"".join(re.findall(rb"(?:id: .*\n)?event: .*\ndata: .*\n\n", said))
    return list(read_events(lines_of(iter([body]))))


def test_who_closes_its_half_of_a_stream_is_not_read_for_and_can_come_back(hall: Hall) -> None:
    space_id = hall.new_space()
    opened = figure(hall.house, OPEN)
    with hall.ada.listen(space_id) as whole:
        with ask(hall, "GET", f"/api/spaces/{space_id}/stream") as half:
            eventually(lambda: figure(hall.house, OPEN) == opened + 2, "both streams")
            half.shutdown(socket.SHUT_WR)
            eventually(lambda: figure(hall.house, OPEN) == opened + 1, "the end of one")
            begun = whole_events(rest(half))
        hall.tell(space_id, whole)
        with hall.ada.listen(space_id, begun[-1].id) as again:
            again.wait(lambda events: told(begun + events) == told(whole.events))
            assert fold(begun + again.events) == fold(whole.events) == hall.ada.messages(space_id, limit=200)


def test_a_post_whose_sender_closed_its_half_is_stored_once(hall: Hall) -> None:
    space_id = hall.house.space("posted", "ada")
    path = f"/api/spaces/{space_id}/messages"
    body = {"text": "Grüße 🚀"}
    sent = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": "half"}
    for length in (len(sent), len(sent) - 1):
        with ask(hall, "POST", path, sent[:length], **{"Content-Length": str(len(sent))}, **headers) as half:
            half.shutdown(socket.SHUT_WR)
            rest(half)
    answer = hall.ada.post(path, body, headers={"Idempotency-Key": "half"}, expect=201)
    assert hall.ada.messages(space_id) == [answer["message"]]


def in_order(events: list[Event]) -> bool:
    """Every position after the first one's, once."""
    offsets = [int((event.id or "").rpartition(".")[2]) for event in events]
    return offsets == list(range(offsets[0], offsets[0] + len(offsets)))


def test_who_reads_a_byte_for_each_event_of_another_is_cut_and_resumes(hall: Hall) -> None:
    space_id = hall.house.space("crowded", "ada")
    opened = figure(hall.house, OPEN)
    with hall.ada.listen(space_id) as whole:
        with ask(hall, "GET", f"/api/spaces/{space_id}/stream") as slow:
            eventually(lambda: figure(hall.house, OPEN) == opened + 2, "both streams")
            said = b""
            while figure(hall.house, OPEN) > opened + 1:
                assert len(said) < 500, "it was never cut"
                hall.ada.say(space_id, f"{len(said)} " + "🚀" * 50_000)
                whole.wait_for("smartSpace.message", len(said) + 1)
                said += slow.recv(1)
            begun = whole_events(said + rest(slow))
        hall.house.admin.post(f"/api/spaces/{space_id}/members", {"entityId": "poet"}, expect=201)
        hall.tell(space_id, whole)
        page = hall.ada.messages(space_id, limit=200)
        assert fold(whole.events) == page
        assert in_order(whole.events)
        with hall.ada.listen(space_id, begun[-1].id) as again:
            again.wait(lambda events: fold(begun + events) == page)
