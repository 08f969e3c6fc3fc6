"""What a call's arguments say and where they send it, by a full parse of the whole text."""

import json
import math
import re
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any

from roomful.domain.shape import clean_json, clean_text
from roomful.domain.tools import MOST_SPACES, Fallback, RouteRule
from roomful.routing.route import Route, RouteFinder
from roomful.routing.scanner import (
    MAX_DEPTH,
    MAX_KEYS,
    ArgumentScanner,
    Closed,
    Key,
    Piece,
    TextEnd,
    Token,
    Value,
)

Pairs = list[tuple[str, Any]]

COMPOSITE = RouteRule(
    args=("targetSpaceId", "targetSpaceIds"),
    entity_arg="targetEntityId",
    injected=True,
    fallback=Fallback.ACTIVE,
)
DISPLAY = RouteRule(args=("targetSpaceId",), injected=True, fallback=Fallback.NOWHERE)
TEXT = RouteRule(args=("spaceId",))
FOR_ONE = RouteRule(entity_arg="targetEntityId", injected=True)
ACTIVE = RouteRule()
NOWHERE = RouteRule(fallback=Fallback.NOWHERE)
RULES = [COMPOSITE, DISPLAY, TEXT, FOR_ONE, ACTIVE, NOWHERE]

SPACES = ("space-1", "space-12", "a")
MEMBERS = [["space-1", "ann"], ["a", "ann"], ["a", "bob"], ["space-12", "bob"]]
FAILS = "fails"


def scan(fragments: Iterable[str]) -> list[Token]:
    scanner = ArgumentScanner()
    tokens = [token for fragment in fragments for token in scanner.feed(fragment)]
    return tokens + scanner.finish()


def joined(tokens: Iterable[Token]) -> list[Token]:
    """With neighbouring pieces as one, as if the text had come whole."""
    out: list[Token] = []
    for token in tokens:
        last = out[-1] if out else None
        if isinstance(token, Piece) and isinstance(last, Piece):
            out[-1] = Piece(token.key, last.text + token.text)
        else:
            out.append(token)
    return out


def pieces_of(text: str, cuts: Iterable[int]) -> list[str]:
    places = [0, *sorted(cuts), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


def parsed(text: str) -> Pairs | None:
    """The top-level pairs of a full parse, cleaned; None when the arguments must be refused."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if text.strip(" \t\n\r\ufeff") == "" and text.count("\ufeff") <= 1:
        return []
    text = text.lstrip(" \t\n\r").removeprefix("\ufeff")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text):
        return None
    calls: list[Pairs] = []

    def note(pairs: Pairs) -> dict[str, Any]:
        calls.append(pairs)
        return dict(pairs)

    def refuse(name: str) -> None:
        raise ValueError(name)

    def finite(digits: str) -> float:
        if math.isinf(float(digits)):
            raise ValueError(digits)
        return float(digits)

    try:
        whole = json.loads(
            text, strict=False, object_pairs_hook=note, parse_constant=refuse, parse_float=finite
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(whole, dict) or len(calls[-1]) > MAX_KEYS or depth_of(calls[-1]) > MAX_DEPTH:
        return None
    return [(clean_text(key), clean_json(value)) for key, value in calls[-1]]


def depth_of(pairs: Pairs) -> int:
    deepest, waiting = 1, [(value, 2) for _, value in pairs]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict | list):
            deepest = max(deepest, depth)
            waiting += [(one, depth + 1) for one in (value.values() if isinstance(value, dict) else value)]
    return deepest


def expected(pairs: Pairs) -> list[Token]:
    tokens: list[Token] = []
    for key, value in pairs:
        tokens.append(Key(key))
        if not isinstance(value, str):
            tokens.append(Value(key, value))
        else:
            tokens += [Piece(key, value), TextEnd(key, value)] if value else [TextEnd(key, "")]
    return [*tokens, Closed()]


def assert_same(one: object, other: object) -> None:
    """Equal and of the same kind: True is not 1, 1 is not 1.0, 0.0 is not -0.0."""
    assert repr(one) == repr(other)


def has_member(space: str, entity: str) -> bool:
    return [space, entity] in MEMBERS


def finder_for(
    rule: RouteRule, member_of: Collection[str] = SPACES, active_space: str | None = "space-1"
) -> RouteFinder:
    return RouteFinder(rule, member_of=member_of, active_space=active_space, has_member=has_member)


def judged(text: str, rule: RouteRule, member_of: Collection[str], active: str | None) -> Route | str:
    """Where the call goes, or that it fails."""
    pairs = parsed(text)
    if pairs is None:
        return FAILS
    has_own = bool(rule.args) and not rule.injected
    default = [active] if active in member_of and rule.fallback == Fallback.ACTIVE else []
    given = [pair for pair in pairs if pair[0] in (*rule.args, rule.entity_arg)]
    order = "".join("R" if pair in given else "o" for pair in pairs)
    allowed = "R*o*" if len(member_of) == 1 and default and not has_own else "o*R*o*"
    if not re.fullmatch(allowed, order) or len(dict(given)) < len(given):
        return FAILS
    entity = dict(given).pop(rule.entity_arg or "", None)
    lists = [
        value if isinstance(value, list) and value else [value]
        for key, value in given
        if key in rule.args and value is not None
    ]
    wanted: list[Any] = [space for spaces in lists for space in spaces] or ([] if has_own else default)
    if any(space not in member_of for space in wanted) or (has_own and not wanted):
        return FAILS
    if entity is not None and (not wanted or any([space, entity] not in MEMBERS for space in wanted)):
        return FAILS
    spaces = tuple(space for at, space in enumerate(wanted) if space not in wanted[:at])
    return Route(spaces, entity) if len(spaces) <= MOST_SPACES else FAILS
