"""Two gateways on one database: what people do at once in both is as if they had done it one by one."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest

from tests.http.test_waiting import FORM
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.postgres import postgres_server
from tests.servers.roomful import Caller, Roomful, openai
from tests.servers.watched import wait_until

T = TypeVar("T")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
POLL = {**FORM, "execution": {"mode": "no-execution", "answers": "each"}, "approvers": {"roles": ["owner"]}}


@pytest.fixture
def houses(tmp_path: Path) -> Iterator[tuple[Roomful, Roomful]]:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with (
        postgres_server() as server,
        Roomful(tmp_path / "one", database=server.url) as one,
        Roomful(tmp_path / "other", database=server.url) as other,
    ):
        yield one, other


def at_once(*things: Callable[[], T]) -> list[T]:
    line = threading.Barrier(len(things))

    def do(thing: Callable[[], T]) -> T:
        line.wait()
        return thing()

    with ThreadPoolExecutor(len(things)) as threads:
        return list(threads.map(do, things))


def test_no_vote_is_lost_and_the_poll_is_closed_with_all_of_them(
    houses: tuple[Roomful, Roomful], model: FakeOpenAI
) -> None:
    one, _ = houses
    owner = one.person("owner")
    names = [f"voter{number}" for number in range(20)]
    voters = [Caller(houses[number % 2], one.person(name).token, name) for number, name in enumerate(names)]
    one.agent("asker", openai(model.base_url), POLL)
    one.space("room", "owner:owner", "asker", *names)
    model.answer(Answer(call("form", {"q": "Pizza?"})), Answer(text("ok")))
    run_id = owner.say("room", "ask them")["runs"][0]["runId"]
    [waiting] = wait_until(lambda: one.admin.get(f"/api/runs/{run_id}")["pendingToolCalls"])
    results = f"/api/runs/{run_id}/tool-results"

    def vote(who: Caller, word: str) -> int:
        body = {"toolCallId": waiting["toolCallId"], "result": word}
        return who.request("POST", results, body).status_code

    for word in ("yes", "no"):
        answered = at_once(*(lambda who=who, word=word: vote(who, word) for who in voters))
        assert answered == [200] * len(voters)
        part = owner.messages("room")[1]["parts"][0]
        cast = {each["entityId"]: each["result"] for each in part["answers"]}
        assert cast == dict.fromkeys(names, word)
    owner.post(results, {"toolCallId": waiting["toolCallId"], "close": True})
    assert len(owner.messages("room")[1]["parts"][0]["result"]["answers"]) == len(voters)


def test_of_two_last_owners_who_leave_at_once_one_stays(houses: tuple[Roomful, Roomful]) -> None:
    one, other = houses
    ada, bob = one.person("ada"), Caller(other, one.person("bob").token, "bob")
    one.space("room", "ada:owner", "bob:owner")
    members = "/api/spaces/room/members"
    with psycopg.connect(one.database) as operator, ThreadPoolExecutor() as threads:
        operator.execute("SELECT 1 FROM roomful.members FOR UPDATE")
        leaves = threads.submit(ada.request, "DELETE", f"{members}/ada")
        steps_down = threads.submit(bob.request, "POST", members, {"entityId": "bob", "role": "member"})
        wait_until(lambda: operator.execute(WAITING).fetchone() == (2,))
        operator.rollback()
        left = [leaves.result().status_code, steps_down.result().status_code]
    assert left in ([204, 409], [409, 200])
    assert [each["role"] for each in one.admin.get(members)["members"]].count("owner") == 1
