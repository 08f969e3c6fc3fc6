"""What a tool is here: a row with words for models, the shapes that go in and come out, and what it does."""

import dataclasses
import functools
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from roomful.domain.errors import Conflict, Invalid, RoomfulError
from roomful.domain.shape import Json, Noun, encode_json
from roomful.web.ask import Ask
from roomful.web.queries import NoQuery

A = TypeVar("A", bound="Arguments")

Guest: TypeAlias = Ask[None, NoQuery, None]
"""Who asks, with the house that they ask."""
Tell: TypeAlias = Callable[[str], None]
"""Says in a sentence how far something has come."""


class Arguments(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What a tool may be given."""


class Told(msgspec.Struct):
    """What a tool found, as words for a model and as data."""

    text: str
    data: Noun


Later: TypeAlias = Callable[[Tell], Awaitable[Told]]
"""What is done is done; this only waits and looks, and may be given up at any time."""


@dataclasses.dataclass(frozen=True)
class Tool(Generic[A]):
    name: str
    title: str
    description: str
    takes: type[A]
    gives: type[Noun]
    act: Callable[[Guest, A], Awaitable[Told | Later]]
    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False
    """Done twice, it is as if done once."""
    is_post: bool = False
    """Counts against the limit of posts, as a search does too."""

    async def call(self, guest: Guest, arguments: Json) -> Told | Later:
        try:
            given = msgspec.convert(arguments, self.takes)
        except msgspec.ValidationError as error:
            raise Invalid(f"arguments: {error}") from None
        if self.is_post:
            guest.desk.count_post(guest.principal)
        return await self.act(guest, given)

    def described(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _schema(self.takes),
            "outputSchema": _schema(self.gives),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.reads_only,
                "destructiveHint": self.destroys,
                "idempotentHint": self.reads_only or self.repeatable,
                "openWorldHint": not self.reads_only,
            },
        }


AnyTool: TypeAlias = Tool[Any]


def success(told: Told) -> dict[str, Json]:
    return {"content": [{"type": "text", "text": told.text}], "structuredContent": told.data}


def refusal(error: RoomfulError) -> dict[str, Json]:
    """The problem that REST would answer, as something that a model can read and mend."""
    problem: dict[str, Json] = {"code": error.code, "detail": error.detail}
    text = error.detail
    if isinstance(error, Conflict) and error.outcome is not None:
        problem["outcome"] = error.outcome
        text += f"\noutcome: {encode_json(error.outcome).decode()}"
    return {"content": [{"type": "text", "text": text}], "structuredContent": problem, "isError": True}


@functools.cache
def _schema(type: type[Any]) -> dict[str, Json]:
    """With an object at its root, as the protocol wants it."""
    [_], components = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    root: dict[str, Json] = components.pop(type.__name__)
    return {**root, "$defs": components} if components else root
