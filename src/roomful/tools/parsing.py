"""The text of a configuration file, JSON or YAML, as the object it stands for."""

import json
from typing import Any, NoReturn

import yaml

from roomful.domain.shape import Json
from roomful.tools.problems import ConfigRefused, Problem
from roomful.tools.reading import as_object

LARGEST_FILE = 1024 * 1024


def parse_config(text: str, *, source: str = "") -> dict[str, Json]:
    """Raises ConfigRefused, also for a key that is written twice: one of the two would be lost in silence."""
    if len(text) > LARGEST_FILE:
        _refuse(source, f"is larger than {LARGEST_FILE // 1024} KiB: write a smaller file")
    text = text.removeprefix("\ufeff")
    try:
        if text.lstrip().startswith("{"):
            value = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
        else:
            value = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        _refuse(source, f"cannot be read: {line}{error.problem or error.context}")
    except (ValueError, yaml.YAMLError) as error:
        _refuse(source, f"cannot be read: {error}")
    except RecursionError:
        _refuse(source, "is nested too deep: write a flatter file")
    config = as_object(value)
    if config is None:
        _refuse(source, 'is not an agent: write an object with "id", "name" and "model"')
    return config


def _refuse(source: str, message: str) -> NoReturn:
    raise ConfigRefused([Problem(source, "", "", message)])


def _without_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key[:80]!r} is written twice in one object")
        found[key] = value
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number that JSON knows")


class _Loader(yaml.SafeLoader):
    """Safe, and strict about keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value[:80]!r} is written twice in one object", problem_mark=key.start_mark
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else "")
        return super().construct_mapping(node, deep)
