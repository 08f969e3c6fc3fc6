"""SQLite: one process per file, but for a guest's small write; readers that never wait for the writer."""

import contextlib
import fcntl
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from roomful.domain.errors import Conflict, Invalid, NotFound, Unavailable
from roomful.store.database import Broken, CannotOpen, Row, WritingEnded
from roomful.store.pool import ReadPool

OLDEST = (3, 35)  # UPDATE ... RETURNING
JOURNAL_BYTES = 64 * 2**20
"""What is left of a journal that was longer for once."""
LOOP_PATIENCE = 0.1
"""How long a read on the event loop may wait, which it does only while a journal is being recovered."""

_ERRORS = (sqlite3.Error, OverflowError, UnicodeError)
_PRIMARY = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NOT_SYNCED = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
_BAD_VALUE = (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE)
_NOT_THE_STATEMENT = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
    *_DAMAGED,
)


class SqliteDatabase:
    """A connection. With `read_only` it is for readers, and each statement is a transaction of its own."""

    shared = False

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], float],
        patience: float,
        read_only: bool = False,
        max_pages: int = 0,
    ) -> None:
        self._path = path
        self._now = now
        self._patience = patience
        self._read_only = read_only
        self._max_pages = max_pages
        self._closed = False
        self._ended = ""
        """Why nothing is written any more."""
        self._connection: sqlite3.Connection | None = None
        self._statements: dict[str, str] = {}

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._connected().execute(self._translated(sql), params).fetchall()
        except _ERRORS as error:
            raise self._told(error) from error

    def count(self, sql: str, params: Sequence[Any] = ()) -> int:
        try:
            return self._connected().execute(self._translated(sql), params).rowcount
        except _ERRORS as error:
            raise self._told(error) from error

    def begin(self) -> None:
        self.rows("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.rows("COMMIT")

    def rollback(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                self._drop()

    def take_schema(self) -> None:
        """`BEGIN IMMEDIATE` did it."""

    def take_id(self, id: str) -> None:
        """So it did here."""

    def close(self) -> None:
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _told(self, error: Exception) -> Exception:
        """The kernel may have dropped what it could not sync, and the next sync would not say so."""
        if getattr(error, "sqlite_errorcode", None) not in _NOT_SYNCED:
            return in_our_words(error, self._path)
        self._ended = (
            f"The disk failed while {self._path} was synced ({error}), so nothing more is written. See to "
            "the disk, then restart the gateway."
        )
        return WritingEnded(self._ended)

    def _translated(self, sql: str) -> str:
        known = self._statements.get(sql)
        if known is None:
            known = self._statements[sql] = sql.replace(" FOR NO KEY UPDATE", "")
        return known

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise Unavailable("The store is closed.")
        if self._ended:
            raise WritingEnded(self._ended)
        if self._connection is None:
            connection = sqlite3.connect(
                self._path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
            try:
                self._configure(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.create_function("moment", 0, self._now)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        if self._read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
                raise CannotOpen(f"{self._path} is on a disk where SQLite cannot keep its journal beside it.")
            connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
        if self._max_pages:
            connection.execute(f"PRAGMA max_page_count = {self._max_pages:d}")


class SqliteReader:
    """Reads on the event loop's own thread: a point read costs less than handing it to another one."""

    def __init__(self, path: Path, now: Callable[[], float], patience: float) -> None:
        self._here = SqliteDatabase(path, now=now, patience=LOOP_PATIENCE, read_only=True)
        self._apart = ReadPool(
            lambda: SqliteDatabase(path, now=now, patience=patience, read_only=True), threads=1
        )

    async def rows(self, sql: str, params: Sequence[Any] = (), *, slow: bool = False) -> list[Row]:
        return await self._apart.rows(sql, params) if slow else self._here.rows(sql, params)

    def close(self) -> None:
        self._here.close()
        self._apart.close()


class SqliteEngine:
    def __init__(
        self, url: str, *, patience: float, exclusive: bool = True, now: Callable[[], float] = time.time
    ) -> None:
        with contextlib.ExitStack() as opened:
            file, max_pages = file_in(url)
            path = file or _gone_when_closed(opened)
            self.is_guest = not opened.enter_context(_only_process(path, exclusive))
            _look_before_opening(path)
            self.writing = SqliteDatabase(path, now=now, patience=patience, max_pages=max_pages)
            opened.callback(self.writing.close)
            _check_whole(self.writing, path, self.is_guest)
            if not self.is_guest:
                _empty_journal(self.writing)
            self.reader = SqliteReader(path, now, patience)
            opened.callback(self.reader.close)
            self._opened = opened.pop_all()

    def close(self) -> None:
        self._opened.close()


def _gone_when_closed(opened: contextlib.ExitStack) -> Path:
    return Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="roomful-"))) / "roomful.db"


def file_in(url: str) -> tuple[Path | None, int]:
    """Where the file is, None for one that is gone when closed, and how many pages it may have at most."""
    place, _, query = url.removeprefix("sqlite://").partition("?")
    options = dict(parse_qsl(query))
    max_pages = options.pop("max_page_count", "0")
    if options or not max_pages.isdecimal():
        raise CannotOpen("A SQLite database takes no option but max_page_count=NUMBER.")
    if place.removeprefix("/") == ":memory:":
        return None, int(max_pages)
    if not place.startswith("/") or place == "/":
        raise CannotOpen(
            f"{url!r} names no file: write sqlite:///roomful.db or sqlite:////folder/roomful.db."
        )
    return Path(unquote(place[1:])), int(max_pages)


@contextlib.contextmanager
def _only_process(path: Path, exclusive: bool) -> Generator[bool]:
    """Whether this is the file's one process. Without `exclusive`, another may be, and we are its guest."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotOpen(f"{lock} cannot be made: {error.strerror}.") from error
    try:
        yield _lock(handle, path, exclusive)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path, exclusive: bool) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        if not exclusive:
            return False
        raise CannotOpen(
            f"{path} is in use by another Roomful process, and a SQLite file has only one. Stop that "
            "process, or use a postgresql:// database, which several processes may share."
        ) from error
    return True


def _look_before_opening(path: Path) -> None:
    if sqlite3.sqlite_version_info < OLDEST:
        raise CannotOpen(f"Roomful needs SQLite 3.35 or newer and this is {sqlite3.sqlite_version}.")
    journal = path.with_name(path.name + "-wal")
    if not path.exists() and journal.exists() and journal.stat().st_size:
        raise CannotOpen(
            f"{path} is gone but its journal {journal.name} is there: the file was moved or deleted while in "
            "use. Put it back; a new one would throw the journal's commits away."
        )
    try:
        path.touch(mode=0o600)
    except OSError as error:
        raise CannotOpen(f"{path} cannot be written: {error.strerror}.") from error


def _check_whole(db: SqliteDatabase, path: Path, is_guest: bool) -> None:
    try:
        tables = {name for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except Unavailable as error:
        raise CannotOpen(error.detail) from error
    if is_guest and not tables:
        raise CannotOpen(f"{path} is just being made by another Roomful process: try again in a moment.")
    if tables and "schema_version" not in tables:
        raise CannotOpen(f"{path} is a SQLite database, but not one of Roomful's. It was left as it is.")


def _empty_journal(db: SqliteDatabase) -> None:
    """Whoever was here before may have died when a sync failed. Then the journal can be read and yet not be
    on the disk, and nothing that is written behind that would be safe."""
    db.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def in_our_words(error: Exception, path: Path) -> Exception:
    extended: int | None = getattr(error, "sqlite_errorcode", None)
    code = None if extended is None else extended & _PRIMARY
    if extended == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
        return NotFound("Something that this refers to is not there.")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return Conflict("There is one with this key already.")
    if code in _DAMAGED:
        return Broken(
            f"{path} is damaged ({error}) and was left as it is. Restore a backup, or recover what can be "
            "read into a new file with .recover of the sqlite3 shell."
        )
    if code in _NOT_THE_STATEMENT:
        return Broken(f"The database does not answer: {error}.")
    if code is None or code in _BAD_VALUE:
        return Invalid(f"The database cannot hold this value: {error}.")
    return error
