"""Where a call goes, decided once, from complete values only, before anything of it is shown.

Routing keys come first. The route is final when another key follows at least one of them, or when the object
closes; from then on nothing moves it, and a routing key that still comes fails the call.
"""

from collections.abc import Callable, Collection
from typing import Annotated, Final, TypeAlias, assert_never

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.shape import Frozen, Json
from roomful.domain.tools import MOST_SPACES, Fallback, RouteRule
from roomful.routing.scanner import Broken, Closed, Key, Piece, TextEnd, Token, Value

_MAX_NAMED: Final = 20

_Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_Ids: TypeAlias = Annotated[list[_Id], msgspec.Meta(min_length=1)] | None


class Route(Frozen):
    """The spaces that see a call, perhaps none; with an entity, only that member of each sees it."""

    spaces: tuple[str, ...]
    entity: str | None = None


class Settled:
    """A route that was found before, as long as the agent may still go there."""

    def __init__(self, route: Route, member_of: Collection[str]) -> None:
        is_open = all(space_id in member_of for space_id in route.spaces)
        self.route: Route | None = route if is_open else None
        self.failure = (
            None if is_open else "you are not in all the spaces any more where this was to be shown"
        )

    def see(self, token: Token) -> None:
        pass


class RouteFinder:
    """Reads the tokens of one call. An active space that the agent is not in counts as none."""

    def __init__(
        self,
        rule: RouteRule,
        *,
        member_of: Collection[str],
        active_space: str | None,
        has_member: Callable[[str, str], bool],
        for_whom: str | None = None,
    ) -> None:
        """`for_whom` is the only member who sees an unaddressed call."""
        self.route: Route | None = None
        """None while undecided. It stays when the call fails later: what was shown there ends there."""
        self.failure: str | None = None
        """Why the call must not be executed, in words for the model."""
        self._rule = rule
        self._member_of = member_of
        self._has_member = has_member
        self._names = frozenset(rule.args if rule.entity_arg is None else (*rule.args, rule.entity_arg))
        self._is_required = bool(rule.args) and not rule.injected
        self._default: tuple[str, ...] = ()
        if rule.fallback == Fallback.ACTIVE and active_space is not None and active_space in member_of:
            self._default = (active_space,)
        self._has_one_place = len(member_of) == 1 and bool(self._default) and not self._is_required
        self._given: dict[str, Json] = {}
        self._for_whom = for_whom
        if not self._names:
            self.route = Route(self._default, for_whom)

    def see(self, token: Token) -> None:
        if self.failure is not None:
            return
        match token:
            case Piece():
                pass
            case Key():
                self._see_key(token.key)
            case TextEnd():
                self._see_value(token.key, token.text)
            case Value():
                self._see_value(token.key, token.value)
            case Closed():
                self._decide()
            case Broken():
                self.failure = f"the arguments cannot be read: {token.reason}"
            case _:
                assert_never(token)

    def _see_key(self, key: str) -> None:
        if key not in self._names:
            if self._given or self._has_one_place:
                self._decide()
        elif key in self._given:
            self.failure = f"{key!r} is given twice: give it first, once, before all other arguments"
        elif self.route is not None:
            self.failure = f"{key!r} comes too late: give it first, once, before all other arguments"

    def _see_value(self, key: str, value: Json) -> None:
        if key in self._names:
            self._given[key] = value

    def _decide(self) -> None:
        if self.route is None:
            try:
                spaces = self._spaces()
                self.route = Route(spaces, self._entity(spaces))
            except Invalid as problem:
                self.failure = problem.detail

    def _spaces(self) -> tuple[str, ...]:
        given = [_space_ids(key, value) for key, value in self._given.items() if key in self._rule.args]
        spaces = tuple(dict.fromkeys(space for ids in given for space in ids))
        if len(spaces) > MOST_SPACES:
            raise Invalid(f"a call goes to at most {MOST_SPACES} spaces, not to {len(spaces)}")
        for space in spaces:
            if space not in self._member_of:
                raise Invalid(f"there is no space {_quoted(space)} that you are in; {self._your_spaces()}")
        if not spaces and self._is_required:
            missing = " or ".join(repr(name) for name in self._rule.args)
            raise Invalid(f"{missing} is missing: say which space; {self._your_spaces()}")
        return spaces or self._default

    def _entity(self, spaces: tuple[str, ...]) -> str | None:
        name = self._rule.entity_arg
        entity = self._given.get(name) if name is not None else None
        if entity is None:
            return self._for_whom if spaces == self._default else None
        if not isinstance(entity, str) or not entity:
            raise Invalid(f"{name!r} must be the id of one member, or null")
        if not spaces:
            raise Invalid(f"{name!r} needs a space where that member is; {self._your_spaces()}")
        for space in spaces:
            if not self._has_member(space, entity):
                raise Invalid(f"there is no member {_quoted(entity)} in the space {space!r}")
        return entity

    def _your_spaces(self) -> str:
        """The same words for a space that does not exist and for one that is closed to this agent."""
        spaces = sorted(self._member_of)
        more = f" and {len(spaces) - _MAX_NAMED} more" if len(spaces) > _MAX_NAMED else ""
        return f"your spaces: {', '.join(spaces[:_MAX_NAMED]) or 'none'}{more}"


def _space_ids(name: str, value: Json) -> list[str]:
    try:
        return msgspec.convert([value] if isinstance(value, str) else value, _Ids) or []
    except msgspec.ValidationError:
        raise Invalid(f"{name!r} must be the id of a space, a list of such ids, or null") from None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")
