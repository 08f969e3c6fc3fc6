"""The same on Postgres: a transaction that sees one state until its end."""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import psycopg

from roomful.domain.errors import Unavailable
from roomful.store.database import Row
from roomful.store.doctor.reading import AT_ONCE, Snapshot
from roomful.store.postgres import in_our_words, translated, without_schema

_BEGIN = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class _PostgresSnapshot:
    has_pragmas = False

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._count = 0

    def rows(self, sql: str, params: Sequence[Any] = (), *, at_once: int = AT_ONCE) -> Iterator[Row]:
        self._count += 1
        try:
            with self._connection.cursor(f"examined_{self._count}") as cursor:
                cursor.itersize = at_once
                yield from cursor.execute(translated(sql), params or None)
        except psycopg.Error as error:
            raise in_our_words(error) from error

    def has_table(self, name: str) -> bool:
        sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
        return any(self.rows(sql, (name,)))


@contextlib.contextmanager
def postgres(url: str) -> Generator[Snapshot]:
    address, schema = without_schema(url)
    try:
        connection = psycopg.connect(address, autocommit=True, connect_timeout=2)
    except psycopg.Error as error:
        raise Unavailable(f"The database cannot be reached: {' '.join(str(error).split())}") from error
    with contextlib.closing(connection):
        connection.execute(f'SET search_path TO "{schema}"'.encode())
        connection.execute(_BEGIN)
        yield _PostgresSnapshot(connection)
