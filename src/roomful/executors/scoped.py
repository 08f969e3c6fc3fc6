"""What an agent keeps may be told only where everybody could have read what it comes from."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from roomful.domain.ports import CallContext, Store
from roomful.domain.shape import Unset
from roomful.spaces.scope import place_of, scope_at

T = TypeVar("T")


def place_of_call(context: CallContext) -> str | None:
    """Where the call was made: the run may have entered another space since."""
    return context.call.active_space_id or place_of(context.run)


async def in_scope(
    store: Store, context: CallContext, things: Sequence[T], space_of: Callable[[T], str | Unset]
) -> list[T]:
    """Those that may be told where the call was made."""
    sources = [space_of(thing) for thing in things]
    scope = await scope_at(store, context.agent_id, place_of_call(context), sources)
    return [thing for thing in things if scope.covers(space_of(thing))]
