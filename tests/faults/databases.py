"""Databases that a story begins with: furnished once, copied for each time it is played."""

import itertools
import shutil
from pathlib import Path
from typing import Protocol

import psycopg

from tests.servers.postgres import PostgresServer

_names = itertools.count(1)


class Databases(Protocol):
    name: str

    def new(self) -> str:
        """The address of an empty one."""
        ...

    def copy(self, url: str) -> str:
        """The address of one like that, which nobody uses now."""
        ...

    def drop(self, url: str) -> None: ...


class SqliteFiles:
    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new(self) -> str:
        own = self._folder / f"database-{next(_names)}"
        own.mkdir()
        return f"sqlite:///{own / 'roomful.db'}"

    def copy(self, url: str) -> str:
        fresh = self.new()
        for file in _place(url).parent.glob("roomful.db*"):
            shutil.copy(file, _place(fresh).parent)
        return fresh

    def drop(self, url: str) -> None:
        shutil.rmtree(_place(url).parent)


def _place(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


class PostgresDatabases:
    name = "postgres"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def new(self) -> str:
        return self._create("template0")

    def copy(self, url: str) -> str:
        return self._create(_database(url))

    def drop(self, url: str) -> None:
        self._execute(f"DROP DATABASE {_database(url)} WITH (FORCE)")

    def _create(self, template: str) -> str:
        name = f"play_{next(_names)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self._server.url.replace("/postgres?", f"/{name}?")

    def _execute(self, sql: str) -> None:
        with psycopg.connect(self._server.url, autocommit=True) as connection:
            connection.execute(sql.encode())


def _database(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]
