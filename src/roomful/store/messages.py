"""Messages: written once with their place in the space, read by pages of ready JSON."""

import functools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeVar

import msgspec

from roomful.domain.errors import Conflict, Invalid, NotFound
from roomful.domain.messages import (
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    answered_parts,
    delegations,
    is_private,
    with_answers,
)
from roomful.domain.ports import ANSWERED, DELEGATES, PRIVATE, Descent, StoredMessage
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, clean_text, encode_json
from roomful.store import company
from roomful.store.announced import Announced, Numbers
from roomful.store.database import LAST_SEQ, Database, Reader, Write

MOST_ON_A_PAGE = 1000
MOST_WORDS = 16
MOST_SOUGHT = 1000
ERASED_AT_ONCE = 200
TRIES = 20
"""How often a page is read again whose delegations went on meanwhile. The last one may be a moment ahead."""

T = TypeVar("T")
_decode = msgspec.json.Decoder(Message).decode
_decode_part: Callable[[bytes], Part] = msgspec.json.Decoder(Part).decode
_seq = itemgetter(0)
_ESCAPES = str.maketrans({"%": r"\%", "_": r"\_", "\\": r"\\"})

_TAKE_SEQ = "UPDATE spaces SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq"
_INSERT = """
INSERT INTO messages
  (space_id, seq, id, entity_id, run_id, status, is_private, is_answered, delegates, words, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"""
_SAVE = """
UPDATE messages SET status = ?, is_private = ?, is_answered = ?, delegates = ?, words = ?,
  body = CAST(? AS TEXT) || seq || CAST(? AS TEXT)
WHERE id = ? AND space_id = ?"""
_SAVE_UNANSWERED = _SAVE + " AND NOT is_answered"
_FIND = "SELECT seq, body FROM messages WHERE id = ? AND space_id = ? FOR NO KEY UPDATE"
_OF_ENTITY = """
SELECT space_id, seq, body FROM messages WHERE entity_id = ? AND (space_id, seq) > (?, ?)
ORDER BY space_id, seq LIMIT ?"""
_PAGE = """
SELECT number AS seq, id, 0 AS marks, NULL AS body FROM writers WHERE id = ? OR ?
UNION ALL SELECT * FROM (
  SELECT seq, id, {marks}, body FROM messages
  WHERE space_id = ? AND seq > ? AND seq < ?{narrower} ORDER BY seq {order} LIMIT ?
) AS page"""
_MARKS = f"""CASE WHEN is_private THEN {PRIVATE} ELSE 0 END
  + CASE WHEN is_answered THEN {ANSWERED} ELSE 0 END + CASE WHEN delegates THEN {DELEGATES} ELSE 0 END"""
"""One column, for of many rows every column costs."""

_HAS_WORD = r" AND words LIKE ? ESCAPE '\'"
_OF_RUN = " AND entity_id = ? AND run_id = ?"
"""The first is known to the second: it is what there is an index for."""


def add_message(message: Message) -> Write:
    head, tail = _around_seq(message)
    id, space_id, entity_id = message.id, message.space_id, message.entity_id
    run_id = None if message.run_id is UNSET else message.run_id
    facts = _facts(message)

    def write(db: Database) -> int:
        taken = db.rows(_TAKE_SEQ, (space_id,))
        if not taken:
            raise NotFound(f"There is no space {space_id}.")
        [(seq,)] = taken
        if not db.count(_INSERT, (space_id, seq, id, entity_id, run_id, *facts, f"{head}{seq}{tail}")):
            raise Conflict(f"There is a message {id} already.")
        return seq

    return write


def save_message(message: Message, was: Message | None = None) -> Write:
    """`seq` comes from the row: the message may have been handed in before its own was known."""
    head, tail = _around_seq(message)
    place = (message.id, message.space_id)
    facts = _facts(message)
    before = None if was is None else encode_json(was)

    def write(db: Database) -> list[Part]:
        if before is not None:
            _expect(db, place, before)
        if db.count(_SAVE_UNANSWERED, (*facts, head, tail, *place)):
            return []
        rows = db.rows(_FIND, place)
        if not rows:
            raise NotFound(f"There is no message {place[0]} in {place[1]}.")
        [(seq, stored)] = rows
        given = _decode(f"{head}{seq}{tail}")
        merged = with_answers(given, _decode(stored))
        db.count(_SAVE, (*_facts(merged), *_around_seq(merged), *place))
        return [new for new, old in zip(merged.parts, given.parts, strict=True) if new is not old]

    return write


def _expect(db: Database, place: tuple[str, str], before: bytes) -> None:
    rows = db.rows(_FIND, place)
    if rows and _decode(rows[0][1]) != _decode(before):
        raise Conflict(f"Message {place[0]} was changed meanwhile.")


def save_parts(space_id: str, message_id: str, parts: Sequence[Part]) -> Write:
    """Read and written in one transaction: others may settle other parts at the same time."""
    encoded = [encode_json(part) for part in parts]

    def write(db: Database) -> Message | None:
        rows = db.rows(_FIND, (message_id, space_id))
        if not rows:
            return None
        message = _decode(rows[0][1])
        fresh = {part.id: part for part in map(_decode_part, encoded)}
        message.parts = [fresh.get(part.id, part) for part in message.parts]
        db.count(_SAVE, (*_facts(message), *_around_seq(message), message_id, space_id))
        return message

    return write


def erase_texts(entity_id: str, at: str) -> Write:
    def write(db: Database) -> None:
        place: tuple[str, int] = ("", 0)
        while rows := db.rows(_OF_ENTITY, (entity_id, *place, ERASED_AT_ONCE)):
            for space_id, seq, body in rows:
                place = (space_id, seq)
                erased = encode_json(_without_texts(_decode(body), at)).decode()
                db.count(
                    "UPDATE messages SET words = '', body = ? WHERE space_id = ? AND seq = ?",
                    (erased, *place),
                )

    return write


class Reading(msgspec.Struct, frozen=True):
    """Which page is wanted, and whether others may write what is on it."""

    space_id: str
    before: int | None
    after: int | None
    limit: int
    query: str | None
    of_run: Run | None
    is_shared: bool


async def history(
    reader: Reader, announced: Announced, wanted: Reading, at: Callable[[], T]
) -> tuple[list[StoredMessage], Descent, bool, T]:
    forwards = wanted.after is not None
    limit = max(1, min(wanted.limit, MOST_ON_A_PAGE))
    likes = _likes(wanted.query) if wanted.query else []
    run = wanted.of_run
    sql = _page(len(likes), is_of_run=run is not None, order="ASC" if forwards else "DESC")
    lowest = wanted.after if wanted.after is not None else 0
    highest = wanted.before if wanted.before is not None else LAST_SEQ
    writers = (announced.writer, wanted.is_shared)
    whose = (run.agent_id, run.id) if run is not None else ()
    params = (*writers, wanted.space_id, lowest, highest, *likes, *whose, limit + 1)

    async def page() -> tuple[list[StoredMessage], Numbers]:
        """The page and the writers' numbers are one statement, hence one state of the database."""
        rows = await reader.rows(sql, params, slow=bool(likes))
        rows.sort(key=_seq)
        found = [StoredMessage(id, seq, marks, body) for seq, id, marks, body in rows if body is not None]
        return found, {id: number for number, id, _, body in rows if body is None}

    async def read() -> tuple[tuple[list[StoredMessage], Descent], Numbers]:
        """What is below is another statement: it is of the same state when it has the same numbers."""
        for last in range(TRIES, -1, -1):
            found, numbers = await page()
            at_work = [one for one in found if one.marks & DELEGATES]
            calls = [part.tool_call_id for one in at_work for part in _delegations(one)]
            below, then = await company.descent_at(reader, writers, calls, numbers)
            if then == numbers or not last:
                return (found, below), numbers
        raise AssertionError("unreachable")

    (found, below), moment = await announced.exactly(wanted.space_id, read, at)
    has_more = len(found) > limit
    if has_more:
        found.pop(-1 if forwards else 0)
    return found, below, has_more, moment


@functools.cache
def _page(words: int, *, is_of_run: bool, order: str) -> str:
    narrower = _HAS_WORD * words + (_OF_RUN if is_of_run else "")
    return _PAGE.format(marks=_MARKS, narrower=narrower, order=order)


def _delegations(stored: StoredMessage) -> list[ToolCallPart]:
    return delegations(_decode(stored.body))


async def message(reader: Reader, space_id: str, message_id: str) -> Message | None:
    rows = await reader.rows(
        "SELECT body FROM messages WHERE id = ? AND space_id = ?", (message_id, space_id)
    )
    return _decode(rows[0][0]) if rows else None


async def open_messages(reader: Reader, run_id: str) -> list[Message]:
    rows = await reader.rows(
        "SELECT body FROM messages WHERE run_id = ? AND status = 'open' ORDER BY space_id, seq", (run_id,)
    )
    return [_decode(body) for (body,) in rows]


def _around_seq(message: Message) -> tuple[str, str]:
    """The message's JSON before and after the number of its `seq`.

    The key's first appearance is the right one: only three texts come before it, and within a text a quote
    is never bare.
    """
    head, key, rest = encode_json(message).decode().partition('"seq":')
    return head + key, rest[rest.index(",") :]


def _facts(message: Message) -> tuple[str, bool, bool, bool, str]:
    """The columns that stand beside the body: status, is_private, is_answered, delegates, words."""
    return (
        message.status,
        is_private(message),
        bool(answered_parts(message)),
        bool(delegations(message)),
        _words(message),
    )


def _words(message: Message) -> str:
    return message.text.replace("\0", " ").casefold()


def _likes(query: str) -> list[str]:
    words = clean_text(query).casefold().split()
    if len(words) > MOST_WORDS or len(query) > MOST_SOUGHT:
        raise Invalid(f"Search for at most {MOST_WORDS} words and {MOST_SOUGHT} characters.")
    return [f"%{word.translate(_ESCAPES)}%" for word in words]


def _without_texts(message: Message, at: str) -> Message:
    parts = [
        msgspec.structs.replace(part, text="") if isinstance(part, TextPart | ReasoningPart) else part
        for part in message.parts
    ]
    return msgspec.structs.replace(message, parts=parts, updated_at=at)
