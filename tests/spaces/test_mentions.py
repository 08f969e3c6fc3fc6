"""Who is meant by a text, and whom a message wakes."""

from typing import Any

import pytest

from roomful.domain.entities import EntityKind
from roomful.domain.errors import Invalid
from roomful.domain.spaces import Member, Space
from roomful.spaces.mentions import check_mentions, find_mentions, who_wakes


def _member(entity_id: str, name: str, kind: EntityKind = "agent") -> Member:
    return Member(entity_id=entity_id, name=name, kind=kind, role="member")


MEMBERS = [
    _member("ada", "Ada", "human"),
    _member("shop", "Shop Agent"),
    _member("dev", "Dev"),
    _member("dev2", "Dev Two"),
    _member("twin-1", "Twin"),
    _member("twin-2", "Twin"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hello @shop", ["shop"]),
        ("@Shop Agent, please", ["shop"]),
        ("@shop agent please", ["shop"]),
        ("@dev and @dev2", ["dev", "dev2"]),
        ("@Dev Two first, @Dev second", ["dev2", "dev"]),
        ("@shop @shop", ["shop"]),
        ("@shop.", ["shop"]),
        ("(@shop)", ["shop"]),
        ("mail ada@shop.example", []),
        ("@shopping", []),
        ("@Twin is two people", []),
        ("@twin-1 is one", ["twin-1"]),
        ("`@shop` in code", []),
        ("```\n@shop\n``` and @dev", ["dev"]),
        ("> @shop said\nyes", []),
        ("> @shop said\n@dev, what now?", ["dev"]),
        ("> one\n> two\n\n@shop", ["shop"]),
        ("@ѕhop with a foreign letter", []),  # noqa: RUF001
        ("@nobody", []),
        ("", []),
    ],
)
def test_mentions_are_exact_ids_and_unique_names_outside_code_and_quotes(text: str, found: list[str]) -> None:
    assert find_mentions(text, MEMBERS) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@ann", ["ann"]),
        ("@Ann", ["ann"]),
        ("@tim", ["tim"]),
        ("@t\u0131m", []),
        ("@Kim", ["Kim"]),
        ("@kim", ["kim"]),
        ("@KIM", []),
    ],
)
def test_nobody_takes_an_id_away_by_their_name_or_a_letter_like_it(text: str, found: list[str]) -> None:
    members = [_member("mallory", "Ann"), _member("ann", "A."), _member("tim", "T."), _member("kim", "K.")]

    assert find_mentions(text, [*members, _member("Kim", "Other")]) == found


@pytest.mark.parametrize("text", ["@ada", "@Ada", "@ADA"])
def test_an_id_counts_more_than_a_name_that_looks_like_it(text: str) -> None:
    impostors = [_member("evil", "Ada"), _member("evil-2", "ada"), _member("evil-3", "ADA")]
    assert find_mentions(text, [*impostors, *MEMBERS]) == ["ada"]


def test_a_mention_of_somebody_who_is_not_here_is_refused() -> None:
    assert check_mentions(["shop", "shop"], MEMBERS) == ["shop"]
    with pytest.raises(Invalid, match="nobody"):
        check_mentions(["nobody"], MEMBERS)


def _space(**more: Any) -> Space:
    return Space(id="s", name="S", created_at="", **more)


def test_who_wakes_follows_the_rule() -> None:
    ada, bob = _member("ada", "Ada", "human"), _member("bob", "Bob", "human")
    one, two = _member("one", "One"), _member("two", "Two")
    assert who_wakes(_space(), [ada, one], "ada", []) == ["one"]
    assert who_wakes(_space(), [ada, one, two], "ada", []) == []
    assert who_wakes(_space(), [ada, one, two], "ada", ["two"]) == ["two"]
    assert who_wakes(_space(), [ada, bob, one, two], "ada", ["bob"]) == []
    assert who_wakes(_space(admin_agent_id="two"), [ada, one, two], "ada", []) == ["two"]
    assert who_wakes(_space(wake="all"), [ada, one, two], "ada", []) == ["one", "two"]
    assert who_wakes(_space(wake="all"), [ada, one, two], "one", []) == []
    assert who_wakes(_space(), [ada, one, two], "one", ["one", "two"]) == ["two"]
