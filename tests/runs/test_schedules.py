"""When a plan is due: durations, times and cron lines, across changes of the clocks and leap days."""

import itertools
from typing import Any

import pytest

from roomful.domain.errors import Invalid
from roomful.domain.plans import Plan
from roomful.runs.durations import seconds_in
from roomful.runs.schedules import MOST_MISSED, first_time, go_on, iso_of, seconds_of, times_after

NOON = seconds_of("2026-01-02T12:00:00Z")
MINUTE, HOUR, DAY = 60, 3600, 86400


def plan(**time: Any) -> Plan:
    return Plan(
        id="p", agent_id="a", name="n", instruction="i", status="active", created_at="", updated_at="", **time
    )


def due(after: str | float = NOON, **time: Any) -> str:
    return iso_of(first_time(plan(**time), seconds_of(after) if isinstance(after, str) else after))


def cron(line: str, zone: str, after: str, count: int) -> list[str]:
    times = times_after(plan(cron=line, timezone=zone), seconds_of(after))
    return [iso_of(at).removesuffix(":00.000Z") for at in itertools.islice(times, count)]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2 hours", 2 * HOUR),
        ("in 2 hours", 2 * HOUR),
        ("In 2 Hours ", 2 * HOUR),
        ("90 minutes", 90 * MINUTE),
        ("1 day 3 hours", DAY + 3 * HOUR),
        ("1 day, 3 hours and 5 minutes", DAY + 3 * HOUR + 5 * MINUTE),
        ("1 day and 3 hours", DAY + 3 * HOUR),
        ("1h30m", 90 * MINUTE),
        ("1h 30min", 90 * MINUTE),
        ("an hour", HOUR),
        ("in a day", DAY),
        ("1.5 hours", 90 * MINUTE),
        ("2 weeks", 14 * DAY),
        ("1w2d", 9 * DAY),
        ("45s", 45),
        ("30 secs", 30),
        ("PT2H", 2 * HOUR),
        ("pt90m", 90 * MINUTE),
        ("P1DT12H", 36 * HOUR),
        ("P2W", 14 * DAY),
        ("PT0.5S", 0.5),
        ("7200", 2 * HOUR),
        (3600, HOUR),
        (0.5, 0.5),
        ("3653 days", 3653 * DAY),
    ],
)
def test_a_while_is_so_many_seconds(written: str | float, seconds: float) -> None:
    assert seconds_in(written) == seconds
    assert due(run_after=written) == iso_of(NOON + seconds)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "no duration"),
        ("soon", "no duration"),
        ("two hours", "no duration"),
        ("2 hours ago", "no duration"),
        ("-2 hours", "no duration"),
        ("2 hours 3", "no duration"),
        ("hours", "no duration"),
        ("in", "no duration"),
        ("2 parsecs", "no duration"),
        ("P", "no duration"),
        ("PT", "no duration"),
        ("P1", "no duration"),
        pytest.param("1 hour " * 20, "no duration", id="many"),
        pytest.param("a" * 100_000, "no duration", id="long"),
        ("1 month", "write it in days"),
        ("2 years", "write it in days"),
        ("P1M", "write it in days"),
        ("P1Y", "write it in days"),
        ("0 minutes", "more than 0"),
        ("PT0S", "more than 0"),
        (0, "more than 0"),
        (-5, "more than 0"),
        (float("nan"), "more than 0"),
        ("3654 days", "at most ten years"),
        pytest.param(10**5000, "at most ten years", id="huge"),
        (float("inf"), "at most ten years"),
    ],
)
def test_what_is_no_while_is_refused_with_advice(written: str | float, told: str) -> None:
    with pytest.raises(Invalid, match=told) as refused:
        seconds_in(written)
    assert refused.value.detail.startswith("runAfter: ")
    assert len(refused.value.detail) < 250


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ({"scheduled_at": "2026-05-01T09:00:00Z"}, "2026-05-01T09:00:00.000Z"),
        ({"scheduled_at": "2026-05-01t09:00z"}, "2026-05-01T09:00:00.000Z"),
        ({"scheduled_at": "2026-05-01T09:00:00+02:00"}, "2026-05-01T07:00:00.000Z"),
        ({"scheduled_at": "2026-05-01 09:00"}, "2026-05-01T09:00:00.000Z"),
        ({"scheduled_at": "2026-05-01T09:00", "timezone": "Europe/Vienna"}, "2026-05-01T07:00:00.000Z"),
        ({"scheduled_at": "2026-02-01T09:00", "timezone": "Europe/Vienna"}, "2026-02-01T08:00:00.000Z"),
        ({"scheduled_at": "2026-05-01T09:00Z", "timezone": "Europe/Vienna"}, "2026-05-01T09:00:00.000Z"),
        ({"scheduled_at": "2028-02-29T09:00", "timezone": "Asia/Kolkata"}, "2028-02-29T03:30:00.000Z"),
        ({"scheduled_at": "2026-10-25T02:30", "timezone": "Europe/Vienna"}, "2026-10-25T00:30:00.000Z"),
        ({"cron": "0 9 * * 1"}, "2026-01-05T09:00:00.000Z"),
        ({"cron": "0 9 * * MON", "timezone": "Europe/Vienna"}, "2026-01-05T08:00:00.000Z"),
        ({"cron": "*/15 * * * *"}, "2026-01-02T12:15:00.000Z"),
        ({"cron": "0 0 29 2 *"}, "2028-02-29T00:00:00.000Z"),
        ({"cron": "0 12 L * *", "timezone": "America/New_York"}, "2026-01-31T17:00:00.000Z"),
        ({"run_after": "2 hours", "timezone": "Europe/Vienna"}, "2026-01-02T14:00:00.000Z"),
    ],
)
def test_a_time_is_read_in_its_zone(time: dict[str, Any], expected: str) -> None:
    assert due(**time) == expected


@pytest.mark.parametrize(
    ("time", "told"),
    [
        ({}, "give one of runAfter, scheduledAt and cron"),
        ({"run_after": "1h", "cron": "* * * * *"}, "runAfter and cron contradict each other"),
        ({"scheduled_at": "2026-05-01T09:00", "run_after": "1h"}, "give exactly one of them"),
        ({"cron": "0 9 * * *", "timezone": "Europe/Wien"}, "there is no zone 'Europe/Wien'"),
        ({"run_after": "1h", "timezone": "Mars"}, "there is no zone 'Mars'"),
        ({"cron": "0 9 * * *", "timezone": "../../etc/passwd"}, "there is no zone"),
        ({"cron": "0 9 * * *", "timezone": "Europe"}, "there is no zone 'Europe'"),
        ({"cron": "0 9 * * *", "timezone": ""}, "there is no zone ''"),
        ({"cron": "0 9 * * *", "timezone": "a\0b"}, "there is no zone"),
        ({"cron": "0 9 * * *", "timezone": "x" * 5000}, "there is no zone"),
        ({"scheduled_at": "2026-01-02T11:59"}, "in the past: it is 2026-01-02T12:00:00+00:00 in UTC now"),
        (
            {"scheduled_at": "2026-01-02T12:59", "timezone": "Europe/Vienna"},
            "in the past: it is 2026-01-02T13:00:00+01:00 in Europe/Vienna now",
        ),
        ({"scheduled_at": "2026-01-02T12:00:00Z"}, "in the past"),
        ({"scheduled_at": "0001-01-01T00:00:00+14:00"}, "in the past"),
        ({"scheduled_at": "2036-05-01T09:00"}, "at most ten years ahead"),
        ({"scheduled_at": "9999-12-31T23:59:59-14:00"}, "at most ten years ahead"),
        ({"scheduled_at": "2026-05-01"}, "no date with a time"),
        ({"scheduled_at": "2026-02-30T09:00"}, "no date with a time"),
        ({"scheduled_at": "tomorrow 09:00"}, "no date with a time"),
        ({"scheduled_at": "9 am"}, "no date with a time"),
        ({"scheduled_at": ""}, "no date with a time"),
        (
            {"scheduled_at": "2026-03-29T02:30", "timezone": "Europe/Vienna"},
            "does not exist in Europe/Vienna",
        ),
        ({"cron": "0 0 31 2 *"}, "never comes"),
        ({"cron": "0 0 30 2 *"}, "never comes"),
        ({"cron": "0 0 31 4,6,9,11 *"}, "never comes"),
        ({"cron": "0 0 */31 * 1#2"}, "never comes"),
        ({"cron": "0 0 32 * *"}, "never comes"),
        ({"cron": "60 * * * *"}, "its field minute cannot be read"),
        ({"cron": "0 9 * * 9"}, "its field day-of-week cannot be read"),
        ({"cron": "0 9 * FOO *"}, "its field month cannot be read"),
        ({"cron": "0 9 * *"}, "has not five fields"),
        ({"cron": "0 0 9 * * *"}, "has not five fields"),
        ({"cron": "@daily"}, "has not five fields"),
        ({"cron": ""}, "has not five fields"),
        ({"cron": "9" * 5000 + " * * * *"}, "has not five fields"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence_to_act_on(time: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as refused:
        due(**time)
    assert told in refused.value.detail
    assert len(refused.value.detail) < 300


def test_a_daily_time_that_is_skipped_in_spring_comes_when_the_clock_was_put_forward() -> None:
    assert cron("30 2 * * *", "Europe/Vienna", "2026-03-27T12:00:00Z", 3) == [
        "2026-03-28T01:30",
        "2026-03-29T01:00",
        "2026-03-30T00:30",
    ]


def test_a_daily_time_that_comes_twice_in_autumn_counts_once() -> None:
    once = ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]

    assert cron("30 2 * * *", "Europe/Vienna", "2026-10-23T12:00:00Z", 3) == once
    assert cron("30 2 * * *", "Europe/Vienna", "2026-10-25T00:30:00Z", 1) == once[2:]
    assert cron("30 2 * * *", "Europe/Vienna", "2026-10-25T01:10:00Z", 1) == once[2:]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_every_hour_is_every_hour_whatever_the_clock(day: str) -> None:
    hours = cron("0 * * * *", "Europe/Vienna", f"{day}T00:00:00Z", 4)

    assert hours == [f"{day}T0{hour}:00" for hour in (1, 2, 3, 4)]


def test_nine_in_the_morning_stays_nine_in_the_morning() -> None:
    assert cron("0 9 * * *", "Europe/Vienna", "2026-03-28T00:00:00Z", 3) == [
        "2026-03-28T08:00",
        "2026-03-29T07:00",
        "2026-03-30T07:00",
    ]
    assert cron("0 9 * * *", "Europe/Vienna", "2026-10-24T00:00:00Z", 3) == [
        "2026-10-24T07:00",
        "2026-10-25T08:00",
        "2026-10-26T08:00",
    ]


def test_what_was_missed_is_counted_and_it_goes_on_from_now() -> None:
    daily = plan(cron="0 9 * * *")
    monday, friday = seconds_of("2026-01-05T09:00:00Z"), seconds_of("2026-01-09T10:00:00Z")

    following, missed = go_on(daily, monday, friday)

    assert missed == 4
    assert following == seconds_of("2026-01-10T09:00:00Z")
    assert go_on(daily, monday, monday) == (monday + DAY, 0)
    assert go_on(plan(run_after="1h"), monday, friday) == (None, 0)


def test_years_of_missed_minutes_are_not_counted_to_the_end() -> None:
    following, missed = go_on(plan(cron="* * * * *"), NOON, NOON + 3653 * DAY)

    assert missed == MOST_MISSED
    assert following == NOON + 3653 * DAY + MINUTE
