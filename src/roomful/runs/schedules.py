"""When a plan is due. The time comes in by argument, and what is wrong is said in a sentence to act on."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from roomful.domain.errors import Invalid
from roomful.domain.plans import Plan
from roomful.domain.shape import UNSET, Unset
from roomful.runs.durations import LONGEST, seconds_in

MOST_MISSED = 1000
"""Counted no further."""
_LONGEST_TEXT = 200
_TIME = re.compile(r"[\dW-]+[Tt ]\d{2}[\d:.,+Zz-]*")


def first_time(plan: Plan, now: float) -> float:
    """When a plan that was made just now is due. Raises Invalid."""
    zone = _zone(plan.timezone)
    match _given(plan):
        case ["runAfter"]:
            assert plan.run_after is not UNSET
            return now + seconds_in(plan.run_after)
        case ["scheduledAt"]:
            assert plan.scheduled_at is not UNSET
            return _scheduled(plan.scheduled_at, zone, now)
        case ["cron"]:
            assert plan.cron is not UNSET
            return _first_of(plan.cron, zone, now)
        case []:
            raise Invalid("it has no time: give one of runAfter, scheduledAt and cron")
        case several:
            raise Invalid(f"{' and '.join(several)} contradict each other: give exactly one of them")


def times_after(plan: Plan, after: float) -> Iterator[float]:
    """The later times of a recurring plan, in order; none for one that runs once. Raises Invalid."""
    return iter(()) if plan.cron is UNSET else _times(plan.cron, _zone(plan.timezone), after)


def go_on(plan: Plan, due: float, now: float) -> tuple[float | None, int]:
    """The first time after now, if there is one, and how many between `due` and now are left out."""
    gone = takewhile(lambda at: at <= now, islice(times_after(plan, due), MOST_MISSED))
    return next(times_after(plan, now), None), sum(1 for _ in gone)


def iso_of(seconds: float) -> str:
    """As a clock writes it."""
    whole, part = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_second(whole)}.{part // 1000:03}Z"


@lru_cache(maxsize=64)
def _second(whole: int) -> str:
    """Clocks are asked many times a second, and all but the fraction is the same each time."""
    return datetime.fromtimestamp(whole, UTC).replace(tzinfo=None).isoformat()


def seconds_of(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()


def _given(plan: Plan) -> list[str]:
    fields = {"runAfter": plan.run_after, "scheduledAt": plan.scheduled_at, "cron": plan.cron}
    return [name for name, value in fields.items() if value is not UNSET]


def _zone(name: str | Unset) -> ZoneInfo:
    try:
        return ZoneInfo("UTC" if name is UNSET else name)
    except (KeyError, ValueError, OSError):
        raise Invalid(
            f"timezone: there is no zone {str(name)[:80]!r}; use an IANA name as in Europe/Vienna, or UTC"
        ) from None


def _scheduled(text: str, zone: ZoneInfo, now: float) -> float:
    at = _read_time(text)
    at = at if at.tzinfo is not None else at.replace(tzinfo=zone)
    seconds = at.timestamp()
    if seconds <= now:
        here = datetime.fromtimestamp(now, zone).isoformat(timespec="seconds")
        raise Invalid(f"scheduledAt: {text} is in the past: it is {here} in {zone.key} now")
    if seconds > now + LONGEST:
        raise Invalid(f"scheduledAt: {text} is too far away: choose a time at most ten years ahead")
    if at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) != at.replace(tzinfo=None):
        raise Invalid(
            f"scheduledAt: {text} does not exist in {zone.key}, where the clock is put forward then: "
            "choose an earlier or a later time"
        )
    return seconds


def _read_time(text: str) -> datetime:
    try:
        if not _TIME.fullmatch(text.strip()):
            raise ValueError
        return datetime.fromisoformat(text.strip().upper())
    except ValueError:
        raise Invalid(
            f"scheduledAt: {text[:80]!r} is no date with a time in ISO 8601, "
            "as in 2026-05-01T09:00 or 2026-05-01T09:00:00+02:00"
        ) from None


def _first_of(cron: str, zone: ZoneInfo, now: float) -> float:
    first = next(_times(cron, zone, now), None)
    if first is None:
        raise Invalid(f"cron: {cron!r} never comes: no such day exists")
    return first


def _times(cron: str, zone: ZoneInfo, after: float) -> Iterator[float]:
    if len(cron) > _LONGEST_TEXT or len(cron.split()) != 5:
        raise Invalid(
            f"cron: {cron[:80]!r} has not five fields: write minute, hour, day of month, month and day of "
            'week, as in "0 9 * * 1"'
        )
    start = datetime.fromtimestamp(after, zone)
    try:
        found = CronSim(cron, start)
    except CronSimError as error:
        raise Invalid(f"cron: {cron!r} {_fault(str(error))}") from None
    return _later(found, start)


def _later(found: CronSim, start: datetime) -> Iterator[float]:
    """Where the clock is put back the library may begin with a time of the hour that is over."""
    for at in found:
        if at.astimezone(UTC) - start.astimezone(UTC) > timedelta(0):
            yield at.timestamp()


def _fault(told: str) -> str:
    field = told.removeprefix("Bad ").lower()
    if field == "day-of-month":
        return "never comes: its day of month is no number from 1 to 31, or none of its months has that day"
    return f"is no cron line: its field {field} cannot be read"
