"""Ports for several processes that share one database: how far each has announced what it wrote, and how they
reach each other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from roomful.domain.news import News


class Moments(Protocol):
    """How far what was written has been announced here, writer by writer. A writer is a process."""

    @property
    def writer(self) -> str:
        """This process."""
        ...

    @property
    def numbers(self) -> Mapping[str, int]:
        """The last batch of each writer that has been announced here."""
        ...

    hears_others: bool
    """Whether others tell what they write. If not, nobody waits for it."""
    on_begin: Callable[[int], None] | None
    """Called before a batch of this writer is announced."""
    on_reached: Callable[[int], None] | None
    """Called when all of it has been."""

    def before(self, writer: str, number: int, space_id: str | None) -> None:
        """Something of another writer's batch is about to be announced in a space."""
        ...

    def reached(self, writer: str, number: int) -> None:
        """All that another writer wrote up to this batch has been announced here."""
        ...


class Link(Protocol):
    """Carries parcels to the other processes of the deployment.

    Order: what one process sends reaches each of the others in the order of its sending, whatever the
    channels. Loss: while the link is down nothing is sent or heard, and `on_change` says so; what was sent
    shortly before may be lost too. Never raises for a server that is away.
    """

    is_up: bool
    on_parcel: Callable[[str, bytes], None] | None
    on_change: Callable[[bool], None] | None

    async def start(self) -> None:
        """Returns when the link is up, or after a moment; then it goes on trying."""
        ...

    def send(self, parcels: Sequence[tuple[str, bytes]]) -> None:
        """Returns at once."""
        ...

    async def ask(self, channel: str, parcel: bytes) -> int:
        """Sends it in its turn, and answers how many processes it reaches, this one included."""
        ...

    async def follow(self, channel: str) -> None:
        """Returns when nothing sent on it from now on is missed, or when the link is down."""
        ...

    def leave(self, channel: str) -> None: ...
    async def close(self) -> None:
        """What was handed to `send` is sent before, if it can be."""
        ...


class Others(Protocol):
    """The other processes of this deployment, if there are any."""

    def tell(self, news: News) -> None: ...
    def listen(self, listener: Callable[[News], None]) -> None: ...
