"""Small texts that name something: members, positions, parameters of an address, envelopes."""

import json
import re
from random import Random
from typing import NamedTuple
from urllib.parse import urlencode

from roomful.domain.envelopes import MessageEnvelope
from roomful.domain.errors import Invalid, Unauthorized
from roomful.domain.events import Position
from roomful.domain.shape import check_id
from roomful.domain.spaces import Member
from roomful.spaces.mentions import addressed, find_mentions
from roomful.web.queries import read_query
from roomful.web.routes.messages import PageQuery
from tests.fuzz import grammar
from tests.fuzz.engine import refused, target

LABELS = (
    "ann", "Ann", "dev", "dev2", "Dev Two", "t\u0131m", "tim", "a.b", "a", "K", "\u212a", "stra\u00dfe",
    "",
)  # fmt: skip
THREE = "\N{ARABIC-INDIC DIGIT THREE}"
AROUND = (*" \n.,:;!?()-_@`>\t", "```", "\n> ", "x", "é", "\u200b", "2", "..")


class Said(NamedTuple):
    text: str
    members: list[Member]


def said(chance: Random) -> Said:
    ids = chance.sample(["ann", "Ann", "dev", "dev2", "tim", "a.b", "a", "k", "shop"], chance.randint(1, 6))
    members = [Member(entity_id=one, name=chance.choice(LABELS), kind="agent", role="member") for one in ids]
    words: list[str] = []
    for _ in range(chance.randint(0, 12)):
        draw = chance.random()
        if draw < 0.5:
            label = chance.choice([*LABELS, *ids])
            words.append("@" + chance.choice((label, label, label.upper(), label.swapcase())))
        else:
            words.append(chance.choice(AROUND) if draw < 0.9 else grammar.text(chance, 6))
    return Said("".join(words), members)


def _without_code(text: str) -> str:
    """Code and quotes as spaces, read one character after the other."""
    out, at = "", 0
    while at < len(text):
        line_end = text.find("\n", at) if "\n" in text[at:] else len(text)
        if text.startswith("```", at):
            end = text.find("```", at + 3) + 3 if "```" in text[at + 3 :] else len(text)
        elif text[at] == "`" and "`" in text[at + 1 : line_end]:
            end = text.index("`", at + 1) + 1
        elif (at == 0 or text[at - 1] == "\n") and text[at:line_end].lstrip(" \t").startswith(">"):
            end = line_end
        else:
            out, at = out + text[at], at + 1
            continue
        out, at = out + " " * (end - at), end
    return out


def _meant(text: str, at: int, members: list[Member]) -> str | None:
    labels = {label for member in members for label in (member.entity_id, member.name) if label}
    for length in sorted({len(form) for label in labels for form in (label, label.casefold())}, reverse=True):
        written, rest = text[at : at + length], text[at + length :]
        if len(written) < length or re.match(r"[\w-]|\.\w", rest):
            continue
        ids = [member.entity_id for member in members if member.entity_id.casefold() == written.casefold()]
        if written in ids:
            return written
        named = [member.entity_id for member in members if member.name.casefold() == written.casefold()]
        if len(ids or named) == 1:
            return (ids or named)[0]
    return None


def check_mentions(given: Said) -> str:
    plain = _without_code(given.text)
    marks = [at for at, mark in enumerate(plain) if mark == "@"]
    found = [
        _meant(plain, at + 1, given.members) for at in marks if not re.match(r"[\w@.]", plain[at - 1 : at])
    ]
    meant = [one for one in dict.fromkeys(found) if one is not None]
    assert find_mentions(given.text, given.members) == meant
    author = given.members[0].entity_id
    assert addressed(given.text, meant, given.members, author) == [one for one in meant if one != author]
    assert find_mentions(given.text.replace("@", ""), given.members) == []
    return "some" if meant else "none"


def cursor(chance: Random) -> str:
    epoch = chance.choice(("ep0ch", "a.b", "", "e\n", "é"))
    text = f"{epoch}.{chance.choice(('0', '17', '-1', THREE, '1e3', '9' * 30))}"
    return grammar.damaged(chance, text) if chance.random() < 0.5 else text


def check_cursor(given: str) -> str:
    position = Position.parse(given)
    if position is None:
        return "unknown"
    assert position.epoch
    assert 0 <= position.offset < 10**18
    assert given.startswith(f"{position.epoch}.")
    assert int(given.rpartition(".")[2]) == position.offset
    assert Position.parse(str(position)) == position
    return "known"


def identifier(chance: Random) -> str:
    text = "".join(chance.choices("abzAZ09_.-", k=chance.choice((0, 1, 5, 63, 64, 65))))
    return grammar.damaged(chance, text) if chance.random() < 0.4 else text


def check_identifier(given: str) -> str:
    is_one = bool(given) and len(given) <= 64 and given.isascii() and given[0].isalnum()
    is_one = is_one and all(letter.isalnum() or letter in "_.-" for letter in given)
    try:
        assert check_id(given) == given
    except Invalid as error:
        assert not is_one
        return refused(error.detail, "none")
    assert is_one
    return "id"


def query(chance: Random) -> bytes:
    names = ("before", "after", "limit", "q", "token", "Before", "key", "x", "")
    values = ("0", "5", "-1", "200", "201", "9007199254740993", "1e3", "true", "", " 5", THREE, "0x1", "5.0")
    pairs: list[tuple[str, bytes]] = []
    for _ in range(chance.randint(0, 3)):
        given = chance.choice(values) if chance.random() < 0.8 else grammar.text(chance)
        pairs.append((chance.choice(names[:4] * 4 + names), given.encode("utf-8", "surrogatepass")))
    tokens = ("&", "=", "%", "%0", "%00", "%ff", ";", "+", "&&")
    text = urlencode(pairs)
    if chance.random() < 0.4:
        text = grammar.damaged(chance, text, tokens)
    return text.encode("utf-8", "replace")


def check_query(given: bytes) -> str:
    try:
        read = read_query(given, PageQuery)
    except Unauthorized:
        return "secret"
    except Invalid as error:
        return refused(error.detail)
    for number in (read.before, read.after):
        assert not isinstance(number, int) or 0 <= number <= 2**53
    assert 1 <= read.limit <= 200
    return "read"


ENVELOPE = {
    "id": "e1",
    "conversation_id": "room",
    "sender": "agent:shop",
    "recipient": "chat:room",
    "type": "message",
    "content": "hi",
    "metadata": {"a": 1},
    "created_at": "2026-03-02T08:00:00Z",
}
TIMES = (
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-03-02T08:00:00", "2026-03-02", ""),
    *("2026-03-02T08:00:60Z", "2026-02-30T08:00:00Z", "2026-03-02T08:00:00.123456789+05:30", "10000-01-01"),
)


def envelope(chance: Random) -> bytes:
    given = dict(ENVELOPE)
    if chance.random() < 0.3:
        given["created_at"] = chance.choice(TIMES)
    if chance.random() < 0.5:
        given = grammar.damaged_value(chance, given, [*ENVELOPE, "extra"])
    data = json.dumps(given).encode()
    return grammar.damaged_bytes(chance, data) if chance.random() < 0.2 else data


def check_envelope(given: bytes) -> str:
    try:
        read = MessageEnvelope.model_validate_json(given)
    except ValueError as error:
        return refused(str(error))
    assert MessageEnvelope.model_validate_json(read.model_dump_json()) == read
    assert read.created_at.utcoffset() is not None
    return "read"


TARGETS = (
    target("mentions", said, check_mentions, ("some", "none"), short=2000, long=200_000),
    target("cursor", cursor, check_cursor, ("known", "unknown"), short=1000, long=60_000),
    target("identifier", identifier, check_identifier, ("id", "none"), short=1000, long=60_000),
    target("query", query, check_query, ("read", "refused", "secret"), short=1000, long=120_000),
    target("envelope", envelope, check_envelope, ("read", "refused"), short=1500, long=120_000),
)
