"""Whether a database keeps what the house promises of it. Nothing in it is changed, and it may be in use."""

import asyncio
from collections.abc import Callable, Iterator

import msgspec

from roomful.domain.messages import Message
from roomful.store.database import CannotOpen
from roomful.store.doctor import bodies, endings, files, order, places, pointers, winners
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot, snapshot
from roomful.store.migrating import newest_version

__all__ = ["Examined", "Finding", "check_up", "examine"]

COUNTED = ("spaces", "messages", "runs", "calls", "blobs")

_MESSAGES = """
SELECT m.space_id, m.seq, m.body, r.status FROM messages m LEFT JOIN runs r ON r.id = m.run_id
ORDER BY m.space_id, m.seq"""

_decode_message = msgspec.json.Decoder(Message).decode


class Examined(msgspec.Struct, frozen=True):
    counts: dict[str, int]
    """How many rows there are, by table."""
    findings: list[Finding]


async def examine(url: str) -> list[Finding]:
    """Everything that is wrong. Raises CannotOpen when there is no database, it is damaged beyond reading or
    has another version's schema, and Unavailable."""
    return (await check_up(url)).findings


async def check_up(url: str) -> Examined:
    """The same, with what was looked at."""
    return await asyncio.to_thread(_check_up, url)


def _check_up(url: str) -> Examined:
    with snapshot(url) as db:
        if damages := list(_damages(db)):
            return Examined({}, damages)
        _check_schema(db)
        counts = {table: next(db.rows(f"SELECT count(*) FROM {table}"))[0] for table in COUNTED}
        return Examined(counts, [finding for check in CHECKS for finding in check(db)])


def _damages(db: Snapshot) -> Findings:
    """Where the file itself is damaged nothing else is looked at."""
    if not db.has_pragmas:
        return
    db.has_table("schema_version")  # raises where this is no database at all
    try:
        for (said,) in db.rows("PRAGMA integrity_check"):
            if said != "ok":
                problem = f"{said}: restore a backup, or use .recover of the sqlite3 shell"
                yield Finding("damaged", "file", "-", problem)
    except CannotOpen as error:  # some damage ends the search for it
        yield Finding("damaged", "file", "-", error.detail)


def _check_schema(db: Snapshot) -> None:
    newest = newest_version()
    current = 0
    if db.has_table("schema_version"):
        [(current,)] = db.rows("SELECT coalesce(max(version), 0) FROM schema_version")
    if current > newest:
        raise CannotOpen(f"The database has schema version {current} and this Roomful knows {newest}.")
    if current < newest:
        raise CannotOpen(
            f"The database has schema version {current} and this Roomful needs {newest}: run roomful migrate."
        )


def _messages(db: Snapshot) -> Findings:
    """Every message is read once for all that is looked for in it."""
    for place, message, run_status in _each_message(db):
        yield from endings.message_ends(place, message, run_status)
        yield from winners.shown_as_settled(db, place, message, run_status)
        yield from files.named_blobs(db, place, message)


def _each_message(db: Snapshot) -> Iterator[tuple[str, Message, str | None]]:
    """Those that can be read."""
    for space_id, seq, body, run_status in db.rows(_MESSAGES):
        try:
            yield f"{space_id}/{seq}", _decode_message(body), run_status
        except msgspec.MsgspecError:
            continue


CHECKS: tuple[Callable[[Snapshot], Findings], ...] = (
    pointers.foreign_keys,
    pointers.pointers,
    pointers.handed_messages,
    order.seqs,
    order.message_ids,
    order.read_marks,
    bodies.bodies,
    _messages,
    endings.owners,
    endings.waits,
    endings.calls_of_ended,
    winners.call_votes,
    winners.children,
    places.authors,
    places.shown_runs,
    files.contents,
)
