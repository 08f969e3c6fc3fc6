"""What the client of a story asked and was told. It asks as a real one does: with a key of its own for every
request, and with the same key again when nobody answered."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx

from tests.servers.roomful import Caller, Roomful

T = TypeVar("T")


class Gateways(Protocol):
    """One or several, of which one may die."""

    @property
    def gateway(self) -> Roomful:
        """The one to ask now."""
        ...

    def eventually(self, found: Callable[[], T | None], what: str) -> T: ...


@dataclass
class Request:
    who: Caller
    path: str
    body: Mapping[str, Any]
    key: str
    attempts: int = 0
    status: int = 0
    answer: Any = None
    """Of the first who acknowledged it."""


@dataclass
class Ledger:
    house: Gateways
    requests: list[Request] = field(default_factory=list[Request])
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def say(self, who: Caller, space_id: str, text: str, **more: Any) -> Any:
        return self.post(who, f"/api/spaces/{space_id}/messages", {"text": text, **more})

    def answer(self, who: Caller, run_id: str, call_id: str, result: Any) -> Any:
        body = {"toolCallId": call_id, "result": result}
        return self.post(who, f"/api/runs/{run_id}/tool-results", body)

    def post(self, who: Caller, path: str, body: Mapping[str, Any]) -> Any:
        """The answer, however often it takes to get one."""
        request = Request(who, path, body, f"key-{next(self._numbers)}")
        self.requests.append(request)

        def acknowledged() -> httpx.Response | None:
            request.attempts += 1
            answer = self._send(request)
            return None if answer.status_code == 503 else answer

        answer = self.house.eventually(acknowledged, f"{path} is answered")
        assert answer.status_code < 300, f"{path}: {answer.status_code} {answer.text}"
        request.status, request.answer = answer.status_code, answer.json()
        return request.answer

    def check(self, pages: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """What was acknowledged is there once, and asking again for it gives the same answer and does
        nothing."""
        stored = {message["id"]: message for page in pages.values() for message in page}
        texts = Counter(part["text"] for message in stored.values() for part in _texts(message))
        for request in self.requests:
            if "message" in request.answer:
                message = stored.get(request.answer["message"]["id"])
                assert message is not None, f"lost: {request}"
                assert texts[request.body["text"]] == 1, f"{texts[request.body['text']]} times: {request}"
            again = self._send(request)
            assert (again.status_code, again.json()) == (request.status, request.answer), request
            assert again.headers["idempotent-replay"] == "true", request

    def _send(self, request: Request) -> httpx.Response:
        who = request.who.at(self.house.gateway)
        return who.request("POST", request.path, request.body, headers={"idempotency-key": request.key})


def _texts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in message["parts"] if part["type"] == "text"]
