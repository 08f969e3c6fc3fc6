"""One consistent state of a database, read row by row, while others may go on writing."""

import contextlib
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from roomful.domain.errors import Unavailable
from roomful.store.database import CannotOpen, Row
from roomful.store.sqlite import file_in, in_our_words

AT_ONCE = 500
"""So many rows are in memory, unless a check says otherwise."""
PATIENCE = 10.0


class Snapshot(Protocol):
    """SQL is written as for `Database`. Errors: CannotOpen when the file is damaged, Unavailable."""

    @property
    def has_pragmas(self) -> bool:
        """Whether it is SQLite, which can examine its own file."""
        ...

    def rows(self, sql: str, params: Sequence[Any] = (), *, at_once: int = AT_ONCE) -> Iterator[Row]: ...

    def has_table(self, name: str) -> bool: ...


@contextlib.contextmanager
def snapshot(url: str) -> Generator[Snapshot]:
    """Makes nothing and changes nothing. Raises CannotOpen, Unavailable."""
    if url.startswith("sqlite://"):
        with _sqlite(url) as found:
            yield found
    elif url.startswith(("postgresql://", "postgres://")):
        try:
            from roomful.store.doctor.postgres import postgres
        except ImportError as error:
            raise CannotOpen("Postgres needs another package: pip install 'roomful[postgres]'.") from error
        with postgres(url) as found:
            yield found
    else:
        raise CannotOpen("A database begins with sqlite:// or postgresql://.")


class _SqliteSnapshot:
    has_pragmas = True

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def rows(self, sql: str, params: Sequence[Any] = (), *, at_once: int = AT_ONCE) -> Iterator[Row]:
        try:
            yield from self._connection.execute(sql, params)
        except sqlite3.Error as error:
            raise _cannot_be_read(error, self._path) from error

    def has_table(self, name: str) -> bool:
        sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return any(self.rows(sql, (name,)))


@contextlib.contextmanager
def _sqlite(url: str) -> Generator[Snapshot]:
    path, _ = file_in(url)
    if path is None:
        raise CannotOpen("A database in memory is gone when its process ends: there is nothing to examine.")
    if not path.is_file():
        raise CannotOpen(f"There is no database {path}: give the right one with --database.")
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
    except sqlite3.Error as error:
        raise _cannot_be_read(error, path) from error
    with contextlib.closing(connection):
        connection.create_function("moment", 0, time.time)
        connection.execute("BEGIN")
        yield _SqliteSnapshot(connection, path)


def _cannot_be_read(error: sqlite3.Error, path: Path) -> Exception:
    told = in_our_words(error, path)
    return CannotOpen(told.detail) if isinstance(told, Unavailable) else told
