"""How long a while is, as one says it: "2 hours", "in 90 minutes", "1h30m", "PT2H", or seconds."""

import re

from roomful.domain.errors import Invalid

LONGEST = 3653 * 86400.0
"""Ten years."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_UNIT = r"s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?"
_NUMBER = r"\d{1,10}(?:\.\d{1,6})?"
_PIECE = re.compile(rf"(an?\s|{_NUMBER}) *({_UNIT})(?![a-z])")
_SPOKEN = re.compile(rf"(?:in\s+)?{_PIECE.pattern}(?:(?:\s*,)?(?:\s*and\b)?\s*{_PIECE.pattern})*")
_ISO = re.compile(
    rf"p(?=.)(?:({_NUMBER})w)?(?:({_NUMBER})d)?(?:t(?=.)(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?)?"
)
_CALENDAR = re.compile(r"month|year|\d\s*(mo|y)\b|p\d+[ym]")


def seconds_in(duration: str | float) -> float:
    """Raises Invalid for what is no duration, for none at all, and for one longer than ten years."""
    seconds = _read(duration) if isinstance(duration, str) else duration
    if not seconds > 0:
        raise Invalid("runAfter: that is no time at all: give more than 0 seconds")
    if seconds > LONGEST:
        raise Invalid("runAfter: that is too long: give at most ten years")
    return float(seconds)


def _read(text: str) -> float:
    if len(text) > 100:
        raise _unclear(text)
    words = " ".join(text.lower().split())
    if re.fullmatch(_NUMBER, words):
        return float(words)
    if (iso := _ISO.fullmatch(words)) is not None:
        return sum(float(n or 0) * _UNITS[unit] for n, unit in zip(iso.groups(), "wdhms", strict=True))
    if _SPOKEN.fullmatch(words):
        return sum(_number(n) * _UNITS[unit[0]] for n, unit in _PIECE.findall(words))
    if _CALENDAR.search(words):
        raise Invalid(
            f"runAfter: {text[:80]!r} has months or years, which are not always as long: "
            "write it in days, or give scheduledAt"
        )
    raise _unclear(text)


def _number(text: str) -> float:
    return 1.0 if text.startswith("a") else float(text)


def _unclear(text: str) -> Invalid:
    return Invalid(
        f'runAfter: {text[:80]!r} is no duration: write one as in "2 hours", "1 day 3 hours" or "PT90M"'
    )
