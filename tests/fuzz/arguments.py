"""Arguments of calls: however they are cut, they say what a full parse says, and never another space."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from roomful.domain.tools import RouteRule
from roomful.routing.route import Route
from roomful.routing.scanner import ArgumentScanner, Broken
from tests.fuzz import grammar
from tests.fuzz.engine import target
from tests.routing.second_opinion import (
    FAILS,
    RULES,
    SPACES,
    assert_same,
    expected,
    finder_for,
    has_member,
    joined,
    judged,
    parsed,
    scan,
)

ROUTING = ("targetSpaceId", "targetSpaceIds", "targetEntityId", "spaceId")
KEYS = (*ROUTING, *ROUTING, "x", "y", "text", "")
IDS = ("space-1", "space-12", "a", "b", "space-", "", "ann", "bob", "space-1\\u0000", "\\u0061", "A", "a ")


class Written(NamedTuple):
    text: str
    fragments: list[str]


class Routed(NamedTuple):
    text: str
    fragments: list[str]
    rule: RouteRule
    member_of: Sequence[str]
    active: str | None


def written(chance: Random) -> Written:
    draw = chance.random()
    if draw < 0.997:
        text = grammar.json_object(chance)
    elif draw < 0.998:
        depth = chance.randint(60, 68)
        text = '{"d":' + "[" * depth + "1" + "]" * depth + "}"
    elif draw < 0.999:
        text = '{"n":' + "-" * chance.randint(0, 1) + "7" * chance.randint(4290, 4310) + "}"
    else:
        text = "{" + ",".join(f'"{n}":{n}' for n in range(chance.randint(997, 1003))) + "}"
    if chance.random() < 0.1:
        text = (
            chance.choice(("\ufeff", " ", "\n\ufeff", "\ufeff\ufeff")) + text + chance.choice(("", " ", "\n"))
        )
    if chance.random() < 0.5:
        text = grammar.damaged(chance, text)
    return Written(text, grammar.cut(chance, text))


def check_scanner(given: Written) -> str:
    pairs = parsed(given.text)
    scanner = ArgumentScanner()
    tokens = [token for fragment in given.fragments for token in scanner.feed(fragment)] + scanner.finish()
    found = joined(tokens)
    assert_same(found, joined(scan([given.text])))
    if pairs is None:
        assert isinstance(found[-1], Broken), "a full parse refuses it"
        assert sum(isinstance(token, Broken) for token in found) == 1
        return "refused"
    assert_same(found, expected(pairs))
    assert_same(scanner.result(), dict(pairs))
    return "read"


def routing_pairs(chance: Random) -> str:
    """Arguments that often send a call somewhere, and often try to."""
    pairs = [_pair(chance) for _ in range(chance.randint(0, 5))]
    if chance.random() < 0.6:
        others = [f"{grammar.json_key(chance, ('x', 'y', 'text'))}:{grammar.json_text(chance, 2, KEYS)}"]
        others += [f'"text":{grammar.json_string(chance)}'] * chance.randint(0, 1)
        name, where = chance.choice(ROUTING), chance.choice(SPACES)
        pairs = [f'"{name}":' + (f'"{where}"' if chance.random() < 0.7 else f'["{where}"]'), *others]
    return "{" + f"{grammar.space(chance)},".join(pairs) + "}"


def _pair(chance: Random) -> str:
    key, draw = grammar.json_key(chance, KEYS), chance.random()
    if draw < 0.5:
        value = f'"{chance.choice(IDS)}"'
    elif draw < 0.75:
        value = "[" + ",".join(f'"{one}"' for one in chance.choices(IDS, k=chance.randint(0, 3))) + "]"
    else:
        value = grammar.json_text(chance, 2, KEYS)
    return key + grammar.space(chance) + ":" + grammar.space(chance) + value


def routed(chance: Random) -> Routed:
    text = routing_pairs(chance)
    if chance.random() < 0.3:
        text = grammar.damaged(chance, text)
    return Routed(
        text,
        grammar.cut(chance, text),
        chance.choice(RULES),
        chance.choice([SPACES, SPACES, ("space-1",), ("a",), ()]),
        chance.choice(["space-1", "a", "left", None]),
    )


def check_route(given: Routed) -> str:
    """What is decided early stays, and is what the whole text says; or the call fails."""
    finder = finder_for(given.rule, given.member_of, given.active)
    scanner, decided = ArgumentScanner(), set[Route]()
    for tokens in (*map(scanner.feed, given.fragments), scanner.finish()):
        for token in tokens:
            finder.see(token)
            if finder.route is not None:
                decided.add(finder.route)
    assert len(decided) <= 1, "a route moved"
    for route in decided:
        assert set(route.spaces) <= set(given.member_of), "a space that the agent is not in"
        assert route.entity is None or all(has_member(space, route.entity) for space in route.spaces)
    verdict = judged(given.text, given.rule, given.member_of, given.active)
    if verdict == FAILS:
        assert finder.failure
        return "fails"
    assert finder.failure is None
    assert finder.route == verdict, "another space"
    assert isinstance(verdict, Route)
    return "goes" if verdict.spaces else "nowhere"


TARGETS = (
    target("scanner", written, check_scanner, ("read", "refused"), short=1500, long=260_000),
    target("route", routed, check_route, ("goes", "nowhere", "fails"), short=2000, long=400_000),
)
