"""A route is found from complete values only, as early as it is certain, and never moves."""

import json
from collections.abc import Collection, Iterable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roomful.domain.tools import MOST_SPACES, RouteRule
from roomful.routing.route import Route, RouteFinder
from roomful.routing.scanner import ArgumentScanner
from tests.routing.second_opinion import (
    ACTIVE,
    COMPOSITE,
    DISPLAY,
    FAILS,
    FOR_ONE,
    NOWHERE,
    RULES,
    SPACES,
    TEXT,
    finder_for,
    judged,
    pieces_of,
)


def follow(finder: RouteFinder, fragments: Iterable[str]) -> RouteFinder:
    scanner = ArgumentScanner()
    for fragment in fragments:
        for token in scanner.feed(fragment):
            finder.see(token)
    for token in scanner.finish():
        finder.see(token)
    return finder


def route_after(finder: RouteFinder, text: str) -> Route | None:
    """The route as it stands when no more than this was written."""
    for token in ArgumentScanner().feed(text):
        finder.see(token)
    return finder.route


def late(key: str) -> str:
    return f"{key!r} comes too late: give it first, once, before all other arguments"


def twice(key: str) -> str:
    return f"{key!r} is given twice: give it first, once, before all other arguments"


# What is routed where.


@pytest.mark.parametrize(
    ("rule", "text", "route"),
    [
        pytest.param(COMPOSITE, "{}", Route(("space-1",)), id="none given, active"),
        pytest.param(COMPOSITE, "", Route(("space-1",)), id="no arguments at all"),
        pytest.param(COMPOSITE, '{"x":1}', Route(("space-1",)), id="only others"),
        pytest.param(COMPOSITE, '{"targetSpaceId":"a","x":1}', Route(("a",)), id="one"),
        pytest.param(COMPOSITE, '{"x":1,"targetSpaceId":"a","y":1}', Route(("a",)), id="one, not first"),
        pytest.param(COMPOSITE, '{"targetSpaceId":null,"x":1}', Route(("space-1",)), id="null is not given"),
        pytest.param(
            COMPOSITE, '{"targetSpaceIds":["a","space-12"]}', Route(("a", "space-12")), id="several"
        ),
        pytest.param(COMPOSITE, '{"targetSpaceIds":"a"}', Route(("a",)), id="one where a list is usual"),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceIds":["a","space-1","a"],"targetSpaceId":"space-1","x":1}',
            Route(("a", "space-1")),
            id="union in the order given",
        ),
        pytest.param(COMPOSITE, '{"target\\u0053paceId":"\\u0061"}', Route(("a",)), id="escaped"),
        pytest.param(COMPOSITE, '{"x":{"targetSpaceId":"a"}}', Route(("space-1",)), id="nested look-alike"),
        pytest.param(
            COMPOSITE, '{"x":"\\",\\"targetSpaceId\\":\\"a"}', Route(("space-1",)), id="quoted look-alike"
        ),
        pytest.param(COMPOSITE, '{"targetEntityId":"ann"}', Route(("space-1",), "ann"), id="one member here"),
        pytest.param(
            COMPOSITE,
            '{"targetEntityId":"bob","targetSpaceId":"a"}',
            Route(("a",), "bob"),
            id="one member there",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceIds":["a","space-1"],"targetEntityId":"ann","x":1}',
            Route(("a", "space-1"), "ann"),
            id="one member in each",
        ),
        pytest.param(COMPOSITE, '{"targetEntityId":null}', Route(("space-1",)), id="no member named"),
        pytest.param(DISPLAY, '{"x":1}', Route(()), id="none given, nowhere"),
        pytest.param(DISPLAY, '{"targetSpaceId":"a","x":1}', Route(("a",)), id="display with a target"),
        pytest.param(DISPLAY, '{"targetSpaceIds":["a"]}', Route(()), id="another dialect's key is any key"),
        pytest.param(TEXT, '{"text":"hi","spaceId":"a"}', Route(("a",)), id="the tool's own argument, last"),
        pytest.param(FOR_ONE, '{"targetEntityId":"ann","x":1}', Route(("space-1",), "ann"), id="member only"),
        pytest.param(ACTIVE, '{"targetSpaceId":"a"}', Route(("space-1",)), id="no routing arguments"),
        pytest.param(NOWHERE, "{}", Route(()), id="no routing arguments, nowhere"),
    ],
)
def test_a_call_goes_where_its_routing_arguments_say(rule: RouteRule, text: str, route: Route) -> None:
    finder = follow(finder_for(rule), [text])

    assert (finder.route, finder.failure) == (route, None)


@pytest.mark.parametrize("active_space", [None, "left"])
def test_without_an_active_space_that_the_agent_is_in_a_call_goes_nowhere(active_space: str | None) -> None:
    assert finder_for(ACTIVE, active_space=active_space).route == Route(())
    assert follow(finder_for(COMPOSITE, active_space=active_space), ["{}"]).route == Route(())


WRONG_SPACE = "'targetSpaceId' must be the id of a space, a list of such ids, or null"
YOURS = "your spaces: a, space-1, space-12"


@pytest.mark.parametrize(
    ("rule", "text", "failure"),
    [
        pytest.param(COMPOSITE, '{"targetSpaceId":""}', WRONG_SPACE, id="empty"),
        pytest.param(COMPOSITE, '{"targetSpaceId":1}', WRONG_SPACE, id="number"),
        pytest.param(COMPOSITE, '{"targetSpaceId":true}', WRONG_SPACE, id="true"),
        pytest.param(COMPOSITE, '{"targetSpaceId":{"a":"a"}}', WRONG_SPACE, id="object"),
        pytest.param(COMPOSITE, '{"targetSpaceId":[]}', WRONG_SPACE, id="empty list"),
        pytest.param(COMPOSITE, '{"targetSpaceId":["a",null]}', WRONG_SPACE, id="null in a list"),
        pytest.param(COMPOSITE, '{"targetSpaceId":["a",""]}', WRONG_SPACE, id="empty in a list"),
        pytest.param(COMPOSITE, '{"targetSpaceId":[["a"]]}', WRONG_SPACE, id="list in a list"),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceId":"b"}',
            f"there is no space 'b' that you are in; {YOURS}",
            id="stranger",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceIds":["a","space-"]}',
            f"there is no space 'space-' that you are in; {YOURS}",
            id="one stranger of two",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceId":"a\\u0000"}',
            f"there is no space 'a\ufffd' that you are in; {YOURS}",
            id="NUL",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceId":"' + "b" * 10_000 + '"}',
            f"there is no space '{'b' * 80}…' that you are in; {YOURS}",
            id="endless id",
        ),
        pytest.param(
            COMPOSITE, '{"targetSpaceId":"a","targetSpaceId":"a"}', twice("targetSpaceId"), id="twice"
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceId":null,"target\\u0053paceId":"a"}',
            twice("targetSpaceId"),
            id="twice, hidden",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceId":"a","x":1,"targetSpaceId":"b"}',
            twice("targetSpaceId"),
            id="twice, late",
        ),
        pytest.param(
            COMPOSITE, '{"targetSpaceId":"a","x":1,"targetSpaceIds":["a"]}', late("targetSpaceIds"), id="late"
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceId":null,"x":1,"targetEntityId":"ann"}',
            late("targetEntityId"),
            id="late member",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetEntityId":["ann"]}',
            "'targetEntityId' must be the id of one member, or null",
            id="two",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetEntityId":""}',
            "'targetEntityId' must be the id of one member, or null",
            id="nobody",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetEntityId":"bob"}',
            "there is no member 'bob' in the space 'space-1'",
            id="not here",
        ),
        pytest.param(
            COMPOSITE,
            '{"targetSpaceIds":["a","space-12"],"targetEntityId":"ann"}',
            "there is no member 'ann' in the space 'space-12'",
            id="not in each",
        ),
        pytest.param(TEXT, '{"text":"hi"}', f"'spaceId' is missing: say which space; {YOURS}", id="missing"),
        pytest.param(
            TEXT, '{"spaceId":null,"text":"hi"}', f"'spaceId' is missing: say which space; {YOURS}", id="null"
        ),
        pytest.param(TEXT, "", f"'spaceId' is missing: say which space; {YOURS}", id="missing, no arguments"),
        pytest.param(
            COMPOSITE, "[]", "the arguments cannot be read: arguments must be a JSON object", id="no object"
        ),
    ],
)
def test_a_call_fails_in_words_the_model_can_act_on(rule: RouteRule, text: str, failure: str) -> None:
    assert follow(finder_for(rule), [text]).failure == failure


def test_a_member_needs_a_space() -> None:
    finder = follow(finder_for(COMPOSITE, active_space=None), ['{"targetEntityId":"ann"}'])

    assert finder.route is None
    assert finder.failure == f"'targetEntityId' needs a space where that member is; {YOURS}"


def test_a_call_goes_to_sixteen_spaces_and_not_to_seventeen() -> None:
    spaces = [f"s{n}" for n in range(MOST_SPACES + 1)]
    for_all = [json.dumps({"targetSpaceIds": spaces[:-1] * 2}), json.dumps({"targetSpaceIds": spaces})]
    most, too_many = [follow(finder_for(COMPOSITE, spaces), [text]) for text in for_all]

    assert (most.route, most.failure) == (Route(tuple(spaces[:-1])), None)
    assert (too_many.route, too_many.failure) == (None, "a call goes to at most 16 spaces, not to 17")


def test_a_long_list_of_spaces_is_not_told_in_full() -> None:
    finder = follow(finder_for(TEXT, [f"s{n:02}" for n in range(25)]), ["{}"])

    assert finder.failure is not None
    assert finder.failure.endswith("s18, s19 and 5 more")


def test_a_space_that_is_closed_to_the_agent_is_asked_nothing() -> None:
    asked: list[str] = []

    def has_member(space: str, entity: str) -> bool:
        asked.append(space)
        return True

    finder = RouteFinder(COMPOSITE, member_of=["a"], active_space="a", has_member=has_member)
    follow(finder, ['{"targetSpaceIds":["a","secret"],"targetEntityId":"ann"}'])

    assert finder.failure == "there is no space 'secret' that you are in; your spaces: a"
    assert asked == []


# When it is known.


@pytest.mark.parametrize(
    ("rule", "member_of", "undecided", "decided"),
    [
        pytest.param(COMPOSITE, SPACES, '{"targetSpaceId":"space-1"', ',"x":', id="another key follows"),
        pytest.param(COMPOSITE, SPACES, '{"targetSpaceId":null,"x"', ":", id="the key's colon was read"),
        pytest.param(COMPOSITE, SPACES, '{"x":"long","y":[1]', "}", id="none given: the object closes"),
        pytest.param(
            COMPOSITE, SPACES, '{"x":1,"targetSpaceId":"space-1",', '"y":', id="given after another"
        ),
        pytest.param(COMPOSITE, ["space-1"], '{"x"', ":", id="one space: the first key is another"),
        pytest.param(COMPOSITE, ["space-1"], "{", "}", id="one space: the object closes"),
        pytest.param(COMPOSITE, ["space-1"], '{"targetSpaceId":"space-1",', '"x":', id="one space, given"),
        pytest.param(
            TEXT, ["space-1"], '{"text":"hi","spaceId":"space-1"', "}", id="one space, its own argument"
        ),
    ],
)
def test_a_route_is_known_as_soon_as_it_is_certain(
    rule: RouteRule, member_of: Collection[str], undecided: str, decided: str
) -> None:
    assert route_after(finder_for(rule, member_of), undecided) is None
    assert route_after(finder_for(rule, member_of), undecided + decided) == Route(("space-1",))


def test_a_tool_without_routing_arguments_has_its_route_from_the_start() -> None:
    assert finder_for(ACTIVE).route == Route(("space-1",))


def test_an_agent_of_one_space_may_not_name_it_late_either() -> None:
    finder = follow(finder_for(COMPOSITE, ["space-1"]), ['{"x":1,"targetSpaceId":"space-1"}'])

    assert finder.failure == late("targetSpaceId")


def test_one_space_that_is_not_the_active_one_is_not_certain() -> None:
    for rule, active in ((COMPOSITE, None), (COMPOSITE, "left"), (DISPLAY, "a")):
        assert route_after(finder_for(rule, ["a"], active), '{"x":') is None
        assert follow(finder_for(rule, ["a"], active), ['{"x":1,"targetSpaceId":"a"}']).route == Route(("a",))


def test_a_route_stays_when_the_call_fails_later() -> None:
    for text in (
        '{"targetSpaceId":"a","x":1,"targetSpaceId":"b"}',
        '{"targetSpaceId":"a","x":',
        '{"targetSpaceId":"a"}!',
    ):
        finder = follow(finder_for(COMPOSITE), [text])

        assert finder.route == Route(("a",))
        assert finder.failure is not None


def test_a_call_that_failed_gets_no_route_and_no_other_failure() -> None:
    finder = follow(finder_for(COMPOSITE), ['{"targetSpaceId":"a","targetSpaceId":"space-1","x":1} and more'])

    assert (finder.route, finder.failure) == (None, twice("targetSpaceId"))


def test_a_route_stays_when_its_member_leaves_while_the_call_is_written() -> None:
    answers = iter([True])
    finder = RouteFinder(
        COMPOSITE, member_of=SPACES, active_space="a", has_member=lambda space, entity: next(answers, False)
    )
    follow(finder, ['{"targetEntityId":"ann","x":1,"y":2}'])

    assert (finder.route, finder.failure) == (Route(("a",), "ann"), None)


# Against a second opinion that has the whole text before it.


def verdict(finder: RouteFinder) -> Route | str:
    if finder.failure is not None:
        return FAILS
    assert finder.route is not None
    return finder.route


CORPUS = [
    '{"targetSpaceId":"space-1","x":1}',
    '{"targetSpaceId":"space-12","x":1}',
    '{"targetSpaceId":"space-1","targetSpaceId":"a"}',
    '{"target\\u0053paceId":"a","x":"y"}',
    '{"targetSpaceId":"a","x":1,"target\\u0053paceIds":["a"]}',
    '{"x":1,"targetSpaceId":"a"}',
    '{"x":{"targetSpaceId":"b"},"y":1}',
    '{"x":"\\"targetSpaceId\\":\\"b\\""}',
    '{"targetSpaceIds":["space-1","space-12"],"x":0}',
    '{"targetSpaceId":null,"x":[{}]}',
    '{"targetSpaceIds":[],"x":1}',
    '{"targetEntityId":"ann","x":50}',
    '{"targetSpaceId":"space-1x","x":1}',
    '{"targetSpaceIds":["a","b"]}',
    '{"spaceId":"space-12","text":"hi"}',
    '{"text":"hi","spaceId":"a"}',
    "{}",
]


@pytest.mark.parametrize("member_of", [SPACES, ("space-1",)], ids=["three spaces", "one space"])
@pytest.mark.parametrize("text", CORPUS)
def test_every_cut_in_two_and_three_gives_the_same_route(text: str, member_of: Collection[str]) -> None:
    inner = range(1, len(text))
    rule = TEXT if '"text"' in text else COMPOSITE
    expected = judged(text, rule, member_of, "space-1")

    for cuts in [*((at,) for at in inner), *combinations(inner, 2)]:
        assert verdict(follow(finder_for(rule, member_of), pieces_of(text, cuts))) == expected, cuts


KEYS = st.sampled_from(
    ["targetSpaceId", "targetSpaceIds", "targetEntityId", "target\\u0053paceId", "spaceId", "x", "y", "z"]
)
IDS = st.sampled_from(["space-1", "space-12", "a", "b", "space-", "", "ann", "bob"])
VALUES = st.one_of(
    IDS.map(json.dumps),
    st.lists(IDS | st.none(), max_size=3).map(json.dumps),
    st.sampled_from(
        ["null", "12", "true", '{"targetSpaceId":"b"}', '"\\"targetSpaceId\\":\\"b\\""', '"\\u0061"']
    ),
)
PAIRS = st.lists(st.tuples(KEYS, VALUES).map(lambda pair: f'"{pair[0]}":{pair[1]}'), max_size=5)
SETTINGS = st.tuples(
    st.sampled_from(RULES),
    st.sampled_from([SPACES, ("space-1",), ("a",), ()]),
    st.sampled_from(["space-1", "a", "left", None]),
)


@settings(max_examples=300, deadline=None)
@given(PAIRS, SETTINGS, st.sets(st.integers(0, 200), max_size=8))
def test_any_call_cut_anywhere_is_routed_as_its_whole_text_says(
    pairs: list[str], setting: tuple[RouteRule, Collection[str], str | None], cuts: set[int]
) -> None:
    text = "{" + ",".join(pairs) + "}"
    fragments = pieces_of(text, {min(cut, len(text)) for cut in cuts})

    assert verdict(follow(finder_for(*setting), fragments)) == judged(text, *setting)


@settings(max_examples=200, deadline=None)
@given(PAIRS, PAIRS, PAIRS, SETTINGS)
def test_nothing_is_decided_that_what_follows_could_change(
    shared: list[str],
    one: list[str],
    other: list[str],
    setting: tuple[RouteRule, Collection[str], str | None],
) -> None:
    texts = ["{" + ",".join(shared + rest) + "}" for rest in (one, other)]
    verdicts = [judged(text, *setting) for text in texts]
    common = next((at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))

    for end in range(common + 1):
        route = route_after(finder_for(*setting), texts[0][:end])
        if route is not None:
            assert all(judgement in (route, FAILS) for judgement in verdicts)
