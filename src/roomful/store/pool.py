"""Reads that wait for a disk or a server, each on one of a few threads with a connection of its own."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from roomful.domain.errors import Unavailable
from roomful.store.database import Database, Lost, Row

MOST_WAITING = 1000


class ReadPool:
    def __init__(self, connect: Callable[[], Database], threads: int) -> None:
        self._connect = connect
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="roomful-reader")
        self._own = threading.local()
        self._connections: list[Database] = []
        self._waiting = 0
        self._closed = False

    async def rows(self, sql: str, params: Sequence[Any] = (), *, slow: bool = False) -> list[Row]:
        if self._closed:
            raise Unavailable("The store is closed.")
        if self._waiting >= MOST_WAITING:
            raise Unavailable(f"{MOST_WAITING} reads are waiting already; try again.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._read, sql, params)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._closed = True
        self._executor.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """A connection that went away while it was idle is found out by using it: hence the second try."""
        connection = self._connection()
        try:
            return connection.rows(sql, params)
        except Lost:
            return connection.rows(sql, params)

    def _connection(self) -> Database:
        connection: Database | None = getattr(self._own, "connection", None)
        if connection is None:
            self._own.connection = connection = self._connect()
            self._connections.append(connection)
        return connection
