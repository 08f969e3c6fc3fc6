"""How large a schema is when every reference in it is written out, and whether one leads back to itself."""

from collections.abc import Iterator
from typing import NamedTuple

from roomful.domain.arguments import unpointer
from roomful.domain.shape import Json
from roomful.tools.reading import as_list, as_object

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_IN_MAPS = ("properties", "patternProperties", "dependentSchemas")
_IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_DIRECT = (
    "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
    "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip
_ADVICE = 'write it from the root on, as in "#/$defs/address"'


class Unfolded(NamedTuple):
    size: int
    """A reference that leads back is counted once."""
    is_endless: bool
    lost: str | None
    """What keeps us from knowing where a reference leads."""


def unfold(schema: Json) -> Unfolded:
    walk = _Walk(as_object(schema) or {})
    return Unfolded(walk.size_of(schema), walk.led_back, walk.lost)


def inner_schemas(part: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for key in _IN_MAPS:
        for name, inner in (as_object(part.get(key)) or {}).items():
            yield f"{key}/{name}", inner
    for key in _IN_LISTS:
        for index, inner in enumerate(as_list(part.get(key)) or []):
            yield f"{key}/{index}", inner
    for key in _DIRECT:
        if key in part:
            yield key, part[key]


def resolve(reference: str, root: dict[str, Json]) -> Json:
    """What a reference from the root on leads to, or None."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Json = root
    for step in unpointer(reference.removeprefix("#")):
        items = as_list(found)
        if items is not None:
            found = items[int(step)] if step.isdecimal() and int(step) < len(items) else None
        else:
            found = (as_object(found) or {}).get(step)
    return found


class _Walk:
    def __init__(self, root: dict[str, Json]) -> None:
        self._root = root
        self._known: dict[str, int | None] = {"#": None}
        self.led_back = False
        self.lost: str | None = None

    def size_of(self, schema: Json) -> int:
        part = as_object(schema)
        if part is None:
            return 1
        if "$id" in part and part is not self._root:
            self.lost = '"$id" below its root, which changes where references lead: leave it out'
        size = 1 + sum(self.size_of(inner) for _, inner in inner_schemas(part))
        return size + sum(self._target(part[key]) for key in REFERENCES if isinstance(part.get(key), str))

    def _target(self, reference: str) -> int:
        if reference not in self._known:
            self._known[reference] = None
            target = resolve(reference, self._root)
            if target is None:
                self.lost = f"{reference[:80]!r}, which leads nowhere: {_ADVICE}"
            self._known[reference] = self.size_of(target)
        size = self._known[reference]
        if size is None:
            self.led_back = True
        return size or 1
