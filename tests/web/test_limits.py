"""Nobody gets more than their share."""

import pytest

from roomful.domain.audit import AuditQuery
from roomful.domain.errors import RateLimited
from roomful.web.auth import address_of
from roomful.web.limits import NOTED, NOTED_SECONDS, REMEMBERED, Limits
from tests.web.visiting import ADMIN_KEY, Visit, story


def test_a_second_s_worth_may_come_at_once_and_no_more() -> None:
    limits = Limits(posts_per_second=20)
    for _ in range(20):
        limits.check_post("ada", 100.0)

    with pytest.raises(RateLimited) as caught:
        limits.check_post("ada", 100.0)

    assert caught.value.retry_after == pytest.approx(0.05)
    limits.check_post("bob", 100.0)
    limits.check_post("ada", 100.06)


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing() -> None:
    limits = Limits(posts_per_second=1)
    limits.check_post("ada", 100.0)

    with pytest.raises(RateLimited):
        limits.check_post("ada", 50.0)
    limits.check_post("ada", 51.1)


def test_zero_is_no_limit() -> None:
    limits = Limits(posts_per_second=0)
    for _ in range(1000):
        limits.check_post("ada", 100.0)


def test_only_so_many_callers_are_remembered() -> None:
    limits = Limits(posts_per_second=1)
    for number in range(REMEMBERED + 10):
        limits.check_post(str(number), 100.0)

    assert len(limits._posts) == REMEMBERED  # pyright: ignore[reportPrivateUsage]


def test_however_many_wrong_tokens_come_only_so_much_is_remembered() -> None:
    limits = Limits(wrong_tokens_per_minute=5)
    for number in range(3 * REMEMBERED):
        limits.guessed(f"2001:db8:{number:x}::/64", number / 1000)

    assert len(limits._wrong) == REMEMBERED  # pyright: ignore[reportPrivateUsage]


def test_failures_are_noted_at_a_bounded_rate_and_the_others_counted() -> None:
    limits = Limits()
    noted = [limits.guessed("a", 100.0) for _ in range(NOTED + 5)]
    later = limits.guessed("a", 100.0 + NOTED_SECONDS)

    assert noted == [0] * NOTED + [None] * 5
    assert later == 5


@story(limits=Limits(0, 0, wrong_tokens_per_minute=3))
async def test_who_guesses_is_not_told_even_if_right_and_others_go_on(house: Visit) -> None:
    ada = await house.person("ada")
    await house.person("bob")
    assert (await house.ask("GET", "/api/session", token=ada)).status == 200
    ways = [
        lambda token: house.ask("GET", "/api/spaces", token=token),
        lambda token: house.ask("POST", "/api/session", {"token": token}),
        lambda token: house.ask("GET", "/api/door", token=token),
    ]
    guesses = [await way("wrong") for way in ways]
    late = [await way(token) for way in ways for token in ("wrong", "token-of-bob", ADMIN_KEY)]

    assert [guess.status for guess in guesses] == [401, 401, 200]
    assert [answer.status for answer in late] == [429] * 9
    assert all(0 < int(answer.headers["retry-after"]) <= 20 for answer in late)
    assert len({answer.body for answer in late}) == 1
    assert (await house.ask("GET", "/api/session", token=ada)).status == 200
    [first, *_] = await house.house.store.audit(AuditQuery(action="sign_in.failed"))
    assert (first.by, first.detail) == ("", {"address": "", "unnoted": 0})


@story(limits=Limits(0, 0, wrong_tokens_per_minute=2))
async def test_no_token_is_no_guess(house: Visit) -> None:
    answers = [await house.ask("GET", "/api/spaces") for _ in range(5)]
    assert [answer.status for answer in answers] == [401] * 5


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (("192.0.2.7", 4711), "192.0.2.7"),
        (("::ffff:192.0.2.7", 4711), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 4711), "2001:db8:1:2::/64"),
        (("a socket", 0), "a socket"),
        (None, ""),
    ],
)
def test_an_address_is_a_host_or_a_network(client: tuple[str, int] | None, address: str) -> None:
    assert address_of({"type": "http", "client": client}) == address


@story(limits=Limits(posts_per_second=2, streams_per_principal=1))
async def test_who_is_over_a_limit_is_told_when_to_come_back(house: Visit) -> None:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="member", bob="member")
    path = "/api/spaces/room/messages"
    answers = [await house.ask("POST", path, {"text": "hi"}, token=ada) for _ in range(3)]

    assert [answer.status for answer in answers] == [201, 201, 429]
    assert answers[2].headers["retry-after"] == "1"
    assert (await house.ask("POST", path, {"text": "hi"}, token=bob)).status == 201

    stream = house.open("GET", "/api/spaces/room/stream", token=ada)
    await stream.event("snapshot")
    assert (await house.ask("GET", "/api/stream", token=ada)).status == 429
    stream.hang_up()
    await stream.over()
    again = house.open("GET", "/api/stream", token=ada)
    await again.event("snapshot")
