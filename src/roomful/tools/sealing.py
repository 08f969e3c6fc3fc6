"""Secrets that an author wrote out: where they stand, and how they are made unreadable and readable again.

`${env.NAME}` is a reference and no secret. What may be done with the others is the caller's to decide.
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json
from roomful.tools.reading import as_list, as_object
from roomful.tools.templates import Secret, pieces

SEALED = "sealed:"

_HEADER = re.compile(
    r"authoriz|authentic|^x?auth(key)?$|cookie|token|secret|password|passwd|credential|signature|(api|access|subscription|functions|private)key"
)
_FIELD = re.compile(r"(api|access|private)key|(access|auth|refresh)token|(client)?secret|password|passwd")
_SCHEME = re.compile(r"\s*(?:bearer|basic|token|apikey|digest)\b", re.IGNORECASE)
_DATA = frozenset({"inputSchema", "resultSchema", "output", "instructions", "description"})


class _Spot(NamedTuple):
    holder: dict[str, Json]
    key: str
    path: str


def find_literal_secrets(config: Mapping[str, Json]) -> list[str]:
    """The places, as paths, where a secret stands written out."""
    return [spot.path for spot in _spots(config) if _is_literal(spot.holder[spot.key])]


def find_sealed(config: Mapping[str, Json]) -> list[str]:
    """The places that hold a sealed secret; in what comes from outside there should be none."""
    return [path for path, text in _texts(config, "") if text.startswith(SEALED)]


def seal_secrets(config: Mapping[str, Json], seal: Callable[[str], str]) -> dict[str, Json]:
    """A copy in which every literal secret is `sealed:` and what `seal` made of it."""
    sealed = copy.deepcopy(dict(config))
    for spot in _spots(sealed):
        if _is_literal(spot.holder[spot.key]):
            spot.holder[spot.key] = SEALED + seal(spot.holder[spot.key])
    return sealed


def open_secrets(config: Mapping[str, Json], unseal: Callable[[str], str]) -> dict[str, Json]:
    """A copy in which every sealed secret is readable, where a secret may stand and nowhere else."""
    opened = copy.deepcopy(dict(config))
    for spot in _spots(opened):
        spot.holder[spot.key] = open_secret(spot.holder[spot.key], unseal)
    return opened


class Found(NamedTuple):
    """How many sealed secrets were sealed anew, how many did not need it, and where one cannot be opened."""

    moved: int
    current: int
    lost: list[str]


def reseal_secrets(
    config: Mapping[str, Json], is_current: Callable[[str], bool], again: Callable[[str], str]
) -> tuple[dict[str, Json], Found]:
    """A copy in which every sealed secret that is not `is_current` is what `again` made of it; where that
    raises Invalid, it stays as it is."""
    moved, current, lost = 0, 0, list[str]()
    resealed = copy.deepcopy(dict(config))
    for spot in _spots(resealed):
        text = spot.holder[spot.key]
        if not isinstance(text, str) or not text.startswith(SEALED):
            continue
        sealed = text.removeprefix(SEALED)
        if is_current(sealed):
            current += 1
            continue
        try:
            spot.holder[spot.key] = SEALED + again(sealed)
            moved += 1
        except Invalid:
            lost.append(spot.path)
    return resealed, Found(moved, current, lost)


def leave_out_secrets(config: Mapping[str, Json], instead: str) -> dict[str, Json]:
    """A copy in which `instead` stands where a secret stood, written out or sealed. References stay."""
    bare = copy.deepcopy(dict(config))
    for spot in _spots(bare):
        if _is_literal(spot.holder[spot.key]):
            spot.holder[spot.key] = instead
    return _without_sealed(bare, instead)


def _without_sealed(value: Json, instead: str) -> Json:
    if isinstance(value, str):
        return instead if value.startswith(SEALED) else value
    if (items := as_list(value)) is not None:
        return [_without_sealed(item, instead) for item in items]
    if (fields := as_object(value)) is not None:
        return {key: _without_sealed(item, instead) for key, item in fields.items()}
    return value


def open_secret(text: Json, unseal: Callable[[str], str]) -> Json:
    """One value, for whoever keeps the rest sealed."""
    if isinstance(text, str) and text.startswith(SEALED):
        return unseal(text.removeprefix(SEALED))
    return text


def _is_literal(value: Json) -> bool:
    """Not sealed, no reference, and more than the name of a scheme with an argument behind it."""
    if not isinstance(value, str) or value.startswith(SEALED):
        return False
    found = pieces(value)
    if any(isinstance(piece, Secret) for piece in found):
        return False
    words = "".join(piece for piece in found if isinstance(piece, str))
    scheme = _SCHEME.match(words)
    return bool(words[scheme.end() if scheme else 0 :].strip())


def _spots(value: Json, path: str = "") -> Iterator[_Spot]:
    """Where a secret is expected: a model's key, a webhook's secret, and what is called like one among the
    headers, the query and the body of a request."""
    for index, item in enumerate(as_list(value) or []):
        yield from _spots(item, f"{path}[{index}]")
    holder = as_object(value) or {}
    for key, item in list(holder.items()):
        place = f"{path}.{key}" if path else key
        match key:
            case "headers":
                yield from _named(item, place, _HEADER.search)
            case "query" | "body":
                yield from _named(item, place, _FIELD.fullmatch)
            case "apiKey" | "secret" if isinstance(item, str):
                yield _Spot(holder, key, place)
            case _ if key not in _DATA:
                yield from _spots(item, place)
            case _:
                pass


def _named(value: Json, path: str, is_secret: Callable[[str], object]) -> Iterator[_Spot]:
    for index, item in enumerate(as_list(value) or []):
        yield from _named(item, f"{path}[{index}]", is_secret)
    holder = as_object(value) or {}
    for key, item in list(holder.items()):
        plain = key.lower().replace("-", "").replace("_", "")
        if isinstance(item, str) and is_secret(plain):
            yield _Spot(holder, key, f"{path}.{key}")
        else:
            yield from _named(item, f"{path}.{key}", is_secret)


def _texts(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    for index, item in enumerate(as_list(value) or []):
        yield from _texts(item, f"{path}[{index}]")
    for key, item in (as_object(value) or {}).items():
        yield from _texts(item, f"{path}.{key}" if path else key)
