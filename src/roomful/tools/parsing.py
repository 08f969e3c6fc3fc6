"""The text of a configuration file, JSON or YAML, as the object it stands for."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import yaml

from roomful.domain.shape import Json
from roomful.tools.problems import ConfigRefused, Problem
from roomful.tools.reading import as_object

LARGEST_FILE = 1024 * 1024
_OF_JSON = {
    "Expecting ',' delimiter": "write a comma before this, or close what is open",
    "Expecting property name": "write a name in double quotes, and no comma before a closing brace",
    "Expecting value": "write a value; text stands in double quotes, and no comma before a closing bracket",
    "Expecting ':'": "write a colon between a name and its value",
    "Unterminated string": "close the double quotes; a line break in text is written \\n",
    "Invalid control character": "a line break in text is written \\n",
    "Extra data": "write one object, and nothing after it",
}
_OF_YAML = {
    "mapping values are not allowed": 'indent it like the line above, or put a text with ": " in quotes',
    "character '\\t'": "write spaces instead of the tab",
    "unhashable key": 'put a text with {{…}} in quotes, as in "{{city}}"',
    "expected <block end>": "indent it like its neighbours",
    "expected ',' or": "close what is open, and put a text with , : ? or } in quotes",
    "could not find expected ':'": "write name: value",
    "while scanning a quoted scalar": "close the quotes",
    "found unexpected end of stream": "close the quotes or brackets that are open",
}


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
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        _refuse(source, f"cannot be read: {place}: {_in_words(error.msg, _OF_JSON)}")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        _refuse(source, f"cannot be read: {place}{_in_words(error.problem or error.context or '', _OF_YAML)}")
    except (ValueError, yaml.YAMLError) as error:
        _refuse(source, f"cannot be read: {error}")
    except RecursionError:
        _refuse(source, "is nested too deep: write a flatter file")
    config = as_object(value)
    if config is None and text.lstrip().startswith(("//", "/*")):
        _refuse(
            source, "is JSON with comments, which JSON does not know: leave them out, or write YAML with #"
        )
    if config is None:
        _refuse(source, 'is not an agent: write an object with "id", "name" and "model"')
    return config


def _in_words(told: str, advice: Mapping[str, str]) -> str:
    found = next((words for sign, words in advice.items() if sign in told), None)
    return f"{told}: {found}" if found else told


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
