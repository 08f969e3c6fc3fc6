"""The record of everything, in SQLite or Postgres. Which one is said by a URL."""

import asyncio
import time
import uuid
from collections.abc import Callable

from roomful.domain.ports import Clock, Store
from roomful.store.database import CannotOpen, Engine
from roomful.store.migrating import check_schema, migrate_database
from roomful.store.record import Record

__all__ = ["CannotOpen", "migrate", "open_store"]


async def open_store(url: str, clock: Clock, *, patience: float = 2.0, exclusive: bool = True) -> Store:
    """`sqlite:///roomful.db`, `sqlite:////folder/roomful.db`, `sqlite://:memory:` (gone when closed), or
    `postgresql://…`, where `?schema=` keeps deployments apart. Brings the schema up to date.

    `clock` is for the times that are stored; how long ago something was is measured by it only on SQLite, and
    by the server's clock on Postgres.
    `patience`: how many seconds a write waits for a lock before it is refused.
    `exclusive=False`: for a small write beside a running server, which may hold the SQLite file: then the
    schema is left as it is, and has to be this version's.
    Errors: CannotOpen, when trying again will not help; Unavailable.
    """
    engine = await asyncio.to_thread(_open, url, clock, patience, exclusive)
    record = Record(engine, clock, name=uuid.uuid4().hex)
    await record.tidy()
    return record


def migrate(url: str) -> list[int]:
    """Brings the schema up to date and answers with the versions it applied."""
    engine = _engine(url, patience=60.0)
    try:
        return migrate_database(engine.writing)
    finally:
        engine.close()


def _open(url: str, clock: Clock, patience: float, exclusive: bool) -> Engine:
    engine = _engine(url, patience, exclusive, clock.now)
    try:
        if engine.is_guest:
            check_schema(engine.writing)
        else:
            migrate_database(engine.writing)
    except BaseException:
        engine.close()
        raise
    return engine


def _engine(
    url: str, patience: float, exclusive: bool = True, now: Callable[[], float] = time.time
) -> Engine:
    if url.startswith("sqlite://"):
        from roomful.store.sqlite import SqliteEngine

        return SqliteEngine(url, patience=patience, exclusive=exclusive, now=now)
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from roomful.store.postgres import PostgresEngine
        except ImportError as error:
            raise CannotOpen("Postgres needs another package: pip install 'roomful[postgres]'.") from error
        return PostgresEngine(url, patience=patience)
    scheme = url.partition("://")[0]
    raise CannotOpen(f"A database begins with sqlite:// or postgresql://, not with {scheme!r}.")
