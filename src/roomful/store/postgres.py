"""Postgres: several processes share one database, each deployment in a schema of its own."""

import contextlib
import re
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.pq import TransactionStatus

from roomful.domain.errors import Conflict, Invalid, NotFound, Unavailable
from roomful.store.database import Broken, CannotOpen, Collided, Lost, Row
from roomful.store.pool import ReadPool

READERS = 4
READ_SECONDS = 10
RETRY_SECONDS = 0.2
STANDSTILL_SECONDS = 10
"""After which the server ends a transaction whose process has stopped, and with it the locks it holds."""

_ERRORS = (psycopg.Error, UnicodeError)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NOT_THE_STATEMENT = ("08", "25", "53", "55", "57", "58", "XX")
"""Classes of SQLSTATE: connection, wrong state, resources, locks, operator, system, internal."""
_BAD_VALUE = ("22", "54")
_MOMENT = "extract(epoch FROM clock_timestamp())::float8"
"""The server's own time: the machines that share it may have clocks that are wrong."""
_GOODBYE = ("57P01", "57P02", "57P03")


class PostgresDatabase:
    """A connection."""

    shared = True

    def __init__(self, url: str, schema: str, *, patience: float, reading: bool = False) -> None:
        self._url = url
        self._schema = schema
        self._patience = patience
        self._reading = reading
        self._cursor: psycopg.Cursor[Row] | None = None
        self._closed = False
        self._not_before = 0.0
        self._statements: dict[str, bytes] = {}

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        cursor = self._execute(sql, params)
        return cursor.fetchall() if cursor.description else []

    def count(self, sql: str, params: Sequence[Any] = ()) -> int:
        return self._execute(sql, params).rowcount

    def begin(self) -> None:
        """A connection that went away while it was idle is found out here, where nothing is lost by it."""
        try:
            self._execute("BEGIN")
        except Lost:
            self._execute("BEGIN")

    def commit(self) -> None:
        answer = self._execute("COMMIT").statusmessage
        if answer != "COMMIT":
            raise Broken(f"The database answered {answer} to a commit.")

    def rollback(self) -> None:
        if self._cursor is None or self._cursor.connection.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            self._cursor.execute("ROLLBACK")
        except psycopg.Error:
            self._drop()

    def take_schema(self) -> None:
        self.rows("SET LOCAL lock_timeout TO 60000")
        self.rows("SELECT pg_advisory_xact_lock(hashtext(?))", (f"roomful {self._schema}",))
        if not self.rows("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self._schema,)):
            self.rows(f'CREATE SCHEMA "{self._schema}"')

    def take_id(self, id: str) -> None:
        self.rows("SELECT pg_advisory_xact_lock(hashtext(?))", (f"roomful {self._schema} id {id}",))

    def close(self) -> None:
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._cursor is not None:
            with contextlib.suppress(psycopg.Error):
                self._cursor.connection.close()
            self._cursor = None

    def _execute(self, sql: str, params: Sequence[Any] = ()) -> psycopg.Cursor[Row]:
        cursor = self._connected()
        try:
            return cursor.execute(self._translated(sql), params or None, prepare=None if params else False)
        except _ERRORS as error:
            if cursor.connection.closed or getattr(error, "sqlstate", None) in _GOODBYE:
                self._drop()
                raise Lost(_one_line("The database went away", error)) from error
            raise in_our_words(error) from error

    def _translated(self, sql: str) -> bytes:
        known = self._statements.get(sql)
        if known is None:
            known = self._statements[sql] = translated(sql)
        return known

    def _connected(self) -> psycopg.Cursor[Row]:
        if self._cursor is None:
            if self._closed:
                raise Unavailable("The store is closed.")
            if time.monotonic() < self._not_before:
                raise Broken("The database did not answer and is asked again in a moment.")
            try:
                self._cursor = self._connect().cursor()
            except psycopg.Error as error:
                self._not_before = time.monotonic() + RETRY_SECONDS
                raise Broken(_one_line("The database cannot be reached", error)) from error
        return self._cursor

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=2,
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
            tcp_user_timeout=10_000,
        )
        try:
            connection.execute(self._settings())
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def _settings(self) -> bytes:
        milliseconds = int(self._patience * 1000)
        settings = [
            f'SET search_path TO "{self._schema}"',
            "SET synchronous_commit TO on",
            "SET client_encoding TO 'UTF8'",
            f"SET lock_timeout TO {milliseconds}",
            f"SET idle_in_transaction_session_timeout TO {STANDSTILL_SECONDS * 1000}",
            "SET default_transaction_isolation TO 'read committed'",
        ]
        if self._reading:
            settings += [
                "SET default_transaction_read_only TO on",
                f"SET statement_timeout TO {READ_SECONDS * 1000}",
            ]
        return "; ".join(settings).encode()


class PostgresEngine:
    is_guest = False

    def __init__(self, url: str, *, patience: float) -> None:
        url, schema = without_schema(url)
        self.writing = PostgresDatabase(url, schema, patience=patience)
        self.reader = ReadPool(
            lambda: PostgresDatabase(url, schema, patience=patience, reading=True), threads=READERS
        )

    def close(self) -> None:
        self.writing.close()
        self.reader.close()


def translated(sql: str) -> bytes:
    changed = sql.replace("%", "%%").replace("?", "%s") if "?" in sql else sql
    changed = changed.replace(" WITHOUT ROWID", "").replace(" BLOB ", " BYTEA ")
    return changed.replace("moment()", _MOMENT).encode()


def without_schema(url: str) -> tuple[str, str]:
    """The server knows nothing of `?schema=`."""
    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    schema = dict(options).get("schema", "roomful")
    if not _SCHEMA.fullmatch(schema):
        raise CannotOpen(f"{schema!r} cannot be a schema: use up to 63 of a-z 0-9 _ and begin with no digit.")
    query = urlencode([(key, value) for key, value in options if key != "schema"], quote_via=quote)
    return urlunsplit(parts._replace(query=query)), schema


def in_our_words(error: Exception) -> Exception:
    state = getattr(error, "sqlstate", None) or ""
    if state == "23503":
        return NotFound("Something that this refers to is not there.")
    if state.startswith("23"):
        return Conflict("There is one with this key already.")
    if state.startswith("40"):
        return Collided(_one_line("The database took the transaction back", error))
    if state.startswith(_BAD_VALUE) or isinstance(error, psycopg.DataError | UnicodeError):
        return Invalid(_one_line("The database cannot hold this value", error))
    if state.startswith(_NOT_THE_STATEMENT) or (not state and isinstance(error, psycopg.OperationalError)):
        return Broken(_one_line("The database does not answer", error))
    return error


def _one_line(what: str, error: Exception) -> str:
    return f"{what}: {' '.join(str(error).split())}"
