"""Nobody gets more than their share."""

import pytest

from roomful.domain.errors import RateLimited
from roomful.web.limits import REMEMBERED, Limits
from tests.web.visiting import Visit, story


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

    assert len(limits._buckets) == REMEMBERED  # pyright: ignore[reportPrivateUsage]


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
