"""A house with many people in it, and agents that speak at a pace.

with Hall(folder, people=1000) as hall:
    crowd.open("all", hall.house.port, hall.seats())
    hall.speak(count=100, per_second=20)    # an agent says so many words, each with its time
"""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.load.crowd import Seat, stamp
from tests.load.measuring import raise_file_limit
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, Piece, delta, pause
from tests.servers.roomful import PATIENCE, Caller, Roomful, openai

SPACE = "hall"
SPEAKERS = 4


def paced(count: int, per_second: float) -> Iterator[Piece]:
    """The first words say no time, so that a whole text says none either."""
    yield delta({"content": "So: "})
    began = time.monotonic()
    for number in range(1, count + 1):
        yield pause(max(0.0, began + number / per_second - time.monotonic()))
        yield delta({"content": f"{stamp()} "})


class Hall:
    """Ada, some agents that answer to their names, and people who only read, in one space."""

    def __init__(self, folder: Path, *, people: int, **environment: str) -> None:
        raise_file_limit()
        self.house = Roomful(folder, ROOMFUL_LIMIT_STREAMS="0", **environment)
        self.readers: list[Caller] = []
        self._people = people
        self._model = FakeOpenAI(self._answer)
        self._stack = contextlib.ExitStack()
        self._pace: tuple[int, float] = (0, 1.0)

    def __enter__(self) -> Self:
        self._stack.enter_context(self._model)
        self._stack.enter_context(self.house)
        self.ada = self.house.person("ada")
        speakers = [
            self.house.agent(f"speaker{number}", openai(self._model.base_url), speaks="both")
            for number in range(SPEAKERS)
        ]
        self.house.space(SPACE, "ada", *speakers)
        for number in range(self._people):
            self.readers.append(self.house.person(f"reader{number}"))
            body = {"entityId": f"reader{number}", "role": "reader"}
            self.house.admin.post(f"/api/spaces/{SPACE}/members", body, expect=201)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def seats(self, first: int = 0, last: int | None = None) -> list[Seat]:
        return [Seat(SPACE, reader.token) for reader in self.readers[first:last]]

    @property
    def position(self) -> str:
        return self.ada.get(f"/api/spaces/{SPACE}/messages", params={"limit": "1"})["position"]

    def begin(self, *, count: int, per_second: float, speakers: int = 1) -> list[str]:
        """Each of so many agents begins to say so many words."""
        self._pace = (count, per_second)
        names = [f"speaker{number}" for number in range(speakers)]
        return [run["runId"] for run in self.ada.say(SPACE, "Please.", mentions=names)["runs"]]

    def has_ended(self, run_id: str) -> bool:
        return "endedAt" in self.house.admin.get(f"/api/runs/{run_id}")

    def say(self, size: int) -> None:
        """Ada posts something of about this size, with its time."""
        self.ada.say(SPACE, stamp() + "x" * size)

    def _answer(self, asked: Asked) -> Answer:
        return Answer(paced(*self._pace))

    def deaf(self, count: int, last: str) -> list[socket.socket]:
        """The last of the people, who ask for the stream from there on and never read a byte of it."""
        return [deaf(self.house.port, Seat(SPACE, one.token, last)) for one in self.readers[-count:]]


def deaf(port: int, seat: Seat) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(PATIENCE)
    sock.connect(("127.0.0.1", port))
    sock.sendall(
        f"GET /api/spaces/{seat.space_id}/stream HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {seat.token}\r\nLast-Event-ID: {seat.last}\r\n\r\n".encode()
    )
    return sock
