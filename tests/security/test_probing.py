"""Whoever guesses ids learns nothing: what is not there and what is not theirs are one and the same."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roomful.app.clock import RandomIds
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller

PROBES: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/api/spaces/{id}", None),
    ("PATCH", "/api/spaces/{id}", {"name": "x"}),
    ("DELETE", "/api/spaces/{id}", None),
    ("GET", "/api/spaces/{id}/members", None),
    ("POST", "/api/spaces/{id}/members", {"entityId": "eve"}),
    ("POST", "/api/spaces/{id}/messages", {"text": "hi"}),
    ("GET", "/api/spaces/{id}/messages", None),
    ("GET", "/api/spaces/{id}/messages/msg_x", None),
    ("GET", "/api/spaces/{id}/stream", None),
    ("GET", "/api/spaces/{id}/grants", None),
    ("POST", "/api/spaces/{id}/read", {"messageId": "msg_x"}),
    ("POST", "/api/spaces/{id}/invites", {}),
    ("GET", "/stream/{id}", None),
    ("GET", "/api/chat/{id}/stream", None),
    ("GET", "/api/chat?threadId={id}", None),
    ("GET", "/ag-ui/{id}/replay", None),
    ("GET", "/api/runs?spaceId={id}", None),
)
EACH = 30


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InHouse]:
    with InHouse(tmp_path_factory.mktemp("probed")) as house:
        yield house


def test_a_thousand_probes_cannot_tell_forbidden_from_unknown(house: InHouse) -> None:
    """Same status, same headers, same bytes but for the name, and the same questions to the database."""
    house.person("ada")
    eve = house.person("eve")
    assert len(PROBES) * EACH * 2 >= 1000
    for number in range(EACH):
        house.space(f"real-{number:03}", "ada:owner")
    eve.get("/api/spaces")
    for (method, path, body), number in itertools.product(PROBES, range(EACH)):
        assert any(alike(house, eve, method, path, body, f"{number:03}") for _ in range(3)), (method, path)


def alike(house: InHouse, eve: Caller, method: str, path: str, body: Any, number: str) -> bool:
    """What the house looks after meanwhile is counted too, now and then: then it is asked again."""
    real = probe(house, eve, method, path.format(id=f"real-{number}"), body)
    fake = probe(house, eve, method, path.format(id=f"fake-{number}"), body)
    assert real[0] == 404
    assert real[2].replace(b"real-", b"fake-") == fake[2], (method, path)
    return (real[0], real[1], real[3]) == (fake[0], fake[1], fake[3])


def test_a_member_is_answered_and_asks_more_of_the_database(house: InHouse) -> None:
    grace = house.person("grace")
    house.space("open", "grace")
    assert any(is_asked_more(house, grace) for _ in range(3))


def is_asked_more(house: InHouse, grace: Caller) -> bool:
    member = probe(house, grace, "GET", "/api/spaces/open/messages", None)
    stranger = probe(house, grace, "GET", "/api/spaces/shut/messages", None)
    assert (member[0], stranger[0]) == (200, 404)
    return len(member[3]) > len(stranger[3])


def probe(
    house: InHouse, who: Caller, method: str, path: str, body: Any
) -> tuple[int, Any, bytes, list[str]]:
    with house.reads() as asked:
        answer = who.request(method, path, body)
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status_code, headers, answer.content, [sql for sql in asked if "tokens" not in sql]


def test_ids_and_secrets_cannot_be_guessed(tmp_path: Path) -> None:
    """128 random bits at least, in what a URL, a header and a file name can hold."""
    ids = RandomIds()
    made = [ids.new("run").removeprefix("run_") for _ in range(5000)]
    secrets = [ids.secret() for _ in range(5000)]
    assert len({*made, *secrets}) == 10_000
    assert {len(each) for each in made} == {22}
    assert min(len(each) for each in secrets) >= 43
    for place in range(21):
        assert len({each[place] for each in made}) > 55, f"character {place} is hardly random"
