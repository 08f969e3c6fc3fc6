"""What both engines give: a connection that takes plain SQL and fails in the words of the house."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from roomful.domain.errors import RoomfulError, Unavailable

LAST_SEQ = 2**62
"""More than any message's place."""

Row: TypeAlias = tuple[Any, ...]


class CannotOpen(RoomfulError):
    """The database cannot be used as it is, and trying again will not help."""

    code = "cannot_open"


class Broken(Unavailable):
    """The disk, a lock or the server failed, not the statement: nothing of the transaction remains."""


class WritingEnded(Broken):
    """A sync failed. What the disk holds is known only when the file is opened anew: until then nothing more
    is written."""


class Lost(Broken):
    """The connection went away. The next statement connects again."""


class Collided(Unavailable):
    """Two processes waited for each other's rows: the same transaction may well succeed the next time."""


class Database(Protocol):
    """One connection, used by one thread at a time.

    SQL is written with `?` for every value, with `moment()` for the time in seconds by which processes that
    share the database measure each other, and with Postgres' `FOR NO KEY UPDATE`, which an engine with a
    single writer leaves out. Errors: NotFound for a reference to nothing, Conflict for a second row with
    one key, Invalid for a value that cannot be held; Broken and Collided end the transaction.
    """

    @property
    def shared(self) -> bool:
        """Whether other processes may write to the same database."""
        ...

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]: ...
    def count(self, sql: str, params: Sequence[Any] = ()) -> int:
        """How many rows the statement changed."""
        ...

    def begin(self) -> None:
        """Connects again when the connection was lost."""
        ...

    def commit(self) -> None:
        """Answers when the transaction is on disk."""
        ...

    def rollback(self) -> None:
        """Ends the transaction, if there is one. Never raises."""
        ...

    def take_schema(self) -> None:
        """Inside a transaction: lets nobody else change the schema until its end."""
        ...

    def take_id(self, id: str) -> None:
        """Inside a transaction: lets nobody else look whether this id is free until its end."""
        ...

    def close(self) -> None: ...


class Reader(Protocol):
    """Where reads go. Errors: Invalid, Unavailable."""

    async def rows(self, sql: str, params: Sequence[Any] = (), *, slow: bool = False) -> list[Row]:
        """One statement is one snapshot. A slow one never runs on the event loop's thread."""
        ...


class Engine(Protocol):
    """A database that is open: its one connection for writing, and its reads."""

    @property
    def is_guest(self) -> bool:
        """Whether another process holds the database, whose schema is not ours to change."""
        ...

    @property
    def writing(self) -> Database: ...
    @property
    def reader(self) -> Reader: ...

    def close(self) -> None: ...


Write: TypeAlias = Callable[[Database], Any]
"""One change, ready to be written. It may run more than once, each time from the same state."""
