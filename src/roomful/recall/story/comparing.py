"""Whether a story came out as it was: everything is compared but times, and ids by who is meant."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import cast

import msgspec

from roomful.domain.messages import Message
from roomful.domain.shape import UNSET, Json, Unset, encode_json

_TIMES = frozenset({"createdAt", "updatedAt", "answeredAt"})
_IDS = frozenset({"id", "toolCallId", "runId", "replyTo", "blobId"})


class Difference(msgspec.Struct, frozen=True):
    """`path` says where; a side is unset where there is nothing."""

    path: str
    recorded: Json | Unset
    replayed: Json | Unset


def first_difference(
    recorded: Sequence[Message], replayed: Sequence[Message], names: Mapping[str, str]
) -> Difference | None:
    """`names` are ids that are known to be others now."""
    compare = _Comparison(names)
    for at, (one, other) in enumerate(zip_longest(recorded, replayed, fillvalue=UNSET)):
        if not isinstance(one, Message) or not isinstance(other, Message):
            return Difference(f"messages[{at}]", _plainly(one), _plainly(other))
        left, right = _plainly(one), _plainly(other)
        if (found := compare.values(left, right, f"messages[{at}]", "")) is not None:
            return found
    return None


def _plainly(message: Message | Unset) -> Json:
    return UNSET if message is UNSET else msgspec.to_builtins(message)


class _Comparison:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)
        self._taken = set(names.values())

    def values(self, one: Json, other: Json, path: str, key: str) -> Difference | None:
        if key in _TIMES:
            return None
        if isinstance(one, str) and one == other:
            return None
        if isinstance(one, dict) and isinstance(other, dict):
            return self._objects(cast("dict[str, Json]", one), cast("dict[str, Json]", other), path)
        if isinstance(one, list) and isinstance(other, list):
            return self._lists(cast("list[Json]", one), cast("list[Json]", other), path)
        if isinstance(one, str) and isinstance(other, str):
            same = self._is_same_id(one, other) if key in _IDS else self._renamed(one) == other
        else:
            same = encode_json(one) == encode_json(other)
        if same:
            return None
        return Difference(path, cast("Json", one), cast("Json", other))

    def _objects(self, one: dict[str, Json], other: dict[str, Json], path: str) -> Difference | None:
        for key in dict.fromkeys([*one, *other]):
            place = f"{path}.{key}"
            if key not in one or key not in other:
                return Difference(place, one.get(key, UNSET), other.get(key, UNSET))
            if (found := self.values(one[key], other[key], place, key)) is not None:
                return found
        return None

    def _lists(self, one: list[Json], other: list[Json], path: str) -> Difference | None:
        for at, (left, right) in enumerate(zip_longest(one, other, fillvalue=UNSET)):
            place = f"{path}[{at}]"
            if UNSET in (left, right):
                return Difference(place, left, right)
            if (found := self.values(left, right, place, "")) is not None:
                return found
        return None

    def _is_same_id(self, one: str, other: str) -> bool:
        """The first time that two ids stand for each other they are the same from then on."""
        if one not in self._names and other not in self._taken:
            self._names[one] = other
            self._taken.add(other)
        return self._names.get(one) == other

    def _renamed(self, text: str) -> str:
        for name, now in self._names.items():
            if name != now and name in text:
                text = text.replace(name, now)
        return text
