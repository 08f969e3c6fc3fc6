"""What the house itself remembers: answers to requests with a key, settings of its own, who wrote lately."""

from roomful.domain.errors import Conflict
from roomful.domain.ports import KnownAnswer
from roomful.store.database import Database, Reader, Write

DAY = 86_400.0

_RECALL = """
INSERT INTO answers (owner, key, digest, status, answer, created_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING"""


_PUT_META = """
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"""


def recall(owner: str, key: str, known: KnownAnswer, now: float) -> Write:
    def write(db: Database) -> None:
        if not db.count(_RECALL, (owner, key, known.digest, known.status, known.answer, now)):
            raise Conflict("A request with this key was answered already.")

    return write


def set_meta(key: str, value: str) -> Write:
    def write(db: Database) -> None:
        db.count("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, value))

    return write


def put_meta(key: str, value: str) -> Write:
    def write(db: Database) -> None:
        db.count(_PUT_META, (key, value))

    return write


def forget_the_gone() -> Write:
    """Workers and writers that ended without a word. One that lives after all comes back when it writes."""

    def write(db: Database) -> None:
        db.count("DELETE FROM workers WHERE until < moment() - ?", (DAY,))
        db.count("DELETE FROM writers WHERE seen < moment() - ?", (7 * DAY,))

    return write


async def known_answer(reader: Reader, owner: str, key: str) -> KnownAnswer | None:
    rows = await reader.rows(
        "SELECT digest, status, answer FROM answers WHERE owner = ? AND key = ?", (owner, key)
    )
    return KnownAnswer(*rows[0]) if rows else None


async def get_meta(reader: Reader, key: str) -> str | None:
    rows = await reader.rows("SELECT value FROM meta WHERE key = ?", (key,))
    return rows[0][0] if rows else None


async def writers(reader: Reader) -> dict[str, int]:
    return dict(await reader.rows("SELECT id, number FROM writers"))
