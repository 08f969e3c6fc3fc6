"""A hostile model crosses no boundary, whatever it says."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.security.evil import CLASSES, PRODUCTS, WORDS, Case, Cases, many, one
from tests.security.evil_house import CANARY, LIMITS, PLAN, SECRET, EvilHouse

KEEPER = "You are keeper."


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EvilHouse]:
    with EvilHouse(tmp_path_factory.mktemp("evil")) as house:
        yield house


@pytest.mark.parametrize(
    "every", [pytest.param(5, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("cases_of", CLASSES, ids=lambda each: each.__name__)
def test_nothing_is_reached_whatever_the_model_says(evil: EvilHouse, cases_of: Cases, every: int) -> None:
    """Of the classes that are products of two lists, every fifth is as good as all of them, mostly."""
    cases = [*itertools.islice(cases_of(evil.prey), 0, None, every if cases_of in PRODUCTS else 1)]
    for case in cases:
        asked = len(evil.model.requests)
        evil.play(case)
        assert len(evil.model.requests) - asked <= most_requests(case), case.kind
    print(f"{len(cases)} cases")
    check_boundaries(evil)


def most_requests(case: Case) -> int:
    """Of the case's runs and of the answer after it; a mention leads to more runs, so many at most."""
    return (LIMITS["runsPerRoot"] if case.kind == "mention" else 1) * LIMITS["maxSteps"] + 2


def check_boundaries(evil: EvilHouse) -> None:
    assert evil.vault_state() == evil.before
    assert [event.name for event in evil.vault.events] == ["snapshot"]
    assert {event.data.get("spaceId", "vault") for event in evil.graces.events} == {"vault"}
    assert evil.inner.requests == []
    hidden = (CANARY, PLAN)
    for request in evil.model.requests:
        if KEEPER not in request.messages[0]["content"]:
            spoken = json.dumps(request.messages)
            assert not [word for word in hidden if word in spoken], spoken[:2000]
            assert SECRET not in spoken
    for events in (evil.lobby.events, evil.adas.events):
        heard = json.dumps([event.data for event in events])
        assert not [word for word in (*hidden, SECRET) if word in heard]


def test_unknown_and_forbidden_are_told_to_the_model_alike(evil: EvilHouse) -> None:
    named = [case for each in CLASSES for case in each(evil.prey) if case.names]
    assert len(named) >= 15
    for case in named:
        unknown = case.names[:-1] + ("x" if case.names[-1] != "x" else "y")
        swapped = [
            tuple(p.replace(case.names.encode(), unknown.encode()) for p in step if isinstance(p, bytes))
            for step in case.steps
        ]
        first, second = evil.play(case), evil.play(replace(case, steps=tuple(swapped)))
        assert evil.told[first], case
        assert "Error" in evil.told[first][0] or '"unknown":[' in evil.told[first][0], (
            case,
            evil.told[first],
        )
        assert json.dumps(evil.told[first]).replace(case.names, unknown) == json.dumps(evil.told[second]), (
            case
        )


def test_what_was_said_elsewhere_is_found_by_nobody(evil: EvilHouse) -> None:
    for caller in evil.callers():
        for word in (CANARY, PLAN):
            assert caller.get("/api/search", params={"q": word})["results"] == []
        for path in (
            f"/api/blobs/{evil.prey.blob}",
            f"/api/runs/{evil.prey.run}",
            "/api/spaces/vault/messages",
        ):
            assert caller.request("GET", path).status_code == 404
        for space in caller.get("/api/spaces")["spaces"]:
            page = json.dumps(caller.messages(space["id"], limit=200))
            assert CANARY not in page
            assert SECRET not in page
    assert evil.grace.get("/api/search", params={"q": CANARY})["results"]


def test_no_secret_is_in_any_sink(evil: EvilHouse) -> None:
    evil.play(one("control", "composite", "leak", {"words": "hello", "key": "control"}))
    sent = [headers.get("authorization") for path, headers, _ in evil.outside.requests if path == "/control"]
    assert sent == [f"Bearer {SECRET}"]
    for path in evil.folder.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    everything = [request.body for request in evil.model.requests], [e.data for e in evil.adas.events]
    assert SECRET not in json.dumps(everything)
    others = [(path, body) for path, _, body in evil.outside.requests if SECRET in path + body]
    assert others == []


def test_nothing_ran_without_consent_or_on_its_way_to_a_space_of_others(evil: EvilHouse) -> None:
    reached = Counter(path for path, _, _ in evil.outside.requests)
    assert {path: reached[path] for path in ("/unapproved", "/routed")} == {"/unapproved": 0, "/routed": 0}


def test_what_is_allowed_is_done(evil: EvilHouse) -> None:
    """The same calls, where they belong."""
    number = evil.play(
        many(
            "control",
            "composite",
            ("card", {"targetSpaceId": "back", "words": WORDS}),
            ("paid", {"targetSpaceIds": ["lobby", "back"], "words": "{{key}}", "key": "allowed"}),
            ("sendSpaceMessage", {"spaceId": "back", "text": "control words"}),
            ("readSpaceMessages", {"spaceId": "back"}),
            ("reckon", {"expression": "6 * 7"}),
        )
    )
    told: list[str] = evil.told[number]
    assert [one[:6] == "Error:" for one in told] == [False] * 5
    assert told[4] == "42"
    [(_, _, body)] = [request for request in evil.outside.requests if request[0] == "/allowed"]
    assert json.loads(body) == {"words": "{{key}}"}
    [message] = evil.ada.messages("back")[-1:]
    assert [part["type"] for part in message["parts"]] == ["tool_call", "tool_call", "text"]
    entered = evil.play(one("control", "active", "enter_space", {"spaceId": "back"}))
    assert "control words" in json.dumps(evil.told[entered])
