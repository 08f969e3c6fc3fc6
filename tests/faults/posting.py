"""People who post all the time and note what they were told."""

import threading
from collections import Counter
from typing import Any, Self, TypeAlias

import httpx

from tests.servers.roomful import PATIENCE, Caller, Roomful

Place: TypeAlias = tuple[str, int]
"""A message's id and seq."""
PEOPLE = ("ann", "bea", "cem", "dev")


class Posters:
    """`with Posters(house) as posters:` posts from a few threads until the block ends or the house does not
    answer. What was in flight when it died may have gone either way."""

    def __init__(self, house: Roomful, people: list[Caller], name: str, size: int = 500) -> None:
        self._size = size
        self._people = people
        self._house = house
        self._name = name
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._post, args=(one,), daemon=True) for one in people]
        self.acknowledged: dict[str, Place] = {}
        """By the key of the message."""
        self.answers: Counter[int] = Counter()
        self.bad: list[str] = []
        """Refusals that do not say when to come back."""

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)

    def noted(self) -> dict[str, Place]:
        """What has been acknowledged so far."""
        with self._changed:
            return dict(self.acknowledged)

    def wait_for(self, status: int, more: int) -> None:
        """Until so many more answers have this status."""
        with self._changed:
            wanted = self.answers[status] + more
            assert self._changed.wait_for(lambda: self.answers[status] >= wanted, PATIENCE), self.answers

    def _post(self, person: Caller) -> None:
        number = 0
        with httpx.Client(timeout=PATIENCE) as client:
            while not self._stop.is_set():
                number += 1
                key = f"{self._name}-{person.id}-{number}"
                try:
                    answer = client.post(
                        f"{self._house.url}/api/spaces/room/messages",
                        json={"text": f"{key} {'x' * self._size}", "clientMessageId": key},
                        headers={"authorization": f"Bearer {person.token}"},
                    )
                except httpx.TransportError:
                    return
                self._note(key, answer)

    def _note(self, key: str, answer: httpx.Response) -> None:
        with self._changed:
            self.answers[answer.status_code] += 1
            if answer.status_code == 201:
                message = answer.json()["message"]
                self.acknowledged[key] = (message["id"], message["seq"])
            elif answer.status_code not in (503, 507) or "retry-after" not in answer.headers:
                self.bad.append(f"{answer.status_code} {answer.text}")
            self._changed.notify_all()


def settle_in(house: Roomful) -> list[Caller]:
    people = [house.person(one) for one in PEOPLE]
    house.space("room", *PEOPLE)
    return people


def stored(reader: Caller) -> dict[str, Place]:
    """Every message of the room by its key; its places have no gap."""
    found: list[dict[str, Any]] = []
    while page := reader.messages("room", after=found[-1]["seq"] if found else 0, limit=200):
        found += page
    assert [message["seq"] for message in found] == list(range(1, len(found) + 1))
    return {message["clientMessageId"]: (message["id"], message["seq"]) for message in found}
