"""What would keep `roomful serve` from running an agent: its file, and what has to be beside it."""

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from roomful.app.configs import ENDINGS, load_functions, read_config
from roomful.app.sealing import SecretBox
from roomful.domain.agents import AgentSpec
from roomful.domain.errors import Invalid
from roomful.domain.tools import PythonFunction
from roomful.models import load_script, wrong_provider
from roomful.settings import Settings
from roomful.tools import ConfigRefused, Problem, configure, find_literal_secrets


def validate(path: Path, settings: Settings) -> AgentSpec:
    """Raises ConfigRefused with everything that was found."""
    config = read_config(path)
    found: list[Problem] = []
    spec: AgentSpec | None = None
    try:
        spec = configure(config, source=str(path), trusted=True)
    except ConfigRefused as refused:
        found += refused.problems
    if not SecretBox(settings.secret_key).can_seal:
        found += _secrets(config, str(path))
    if spec is not None:
        found += _beside(spec, path)
    if found or spec is None:
        raise ConfigRefused(found)
    return spec


def _secrets(config: dict[str, Any], source: str) -> Iterator[Problem]:
    for place in find_literal_secrets(config):
        yield Problem(
            source,
            "",
            place,
            "is a secret in plain text: write ${env.NAME} and set ROOMFUL_TOOL_ENV=NAME, or set "
            "ROOMFUL_SECRET_KEY so that it can be sealed",
            place,
        )


def _beside(spec: AgentSpec, path: Path) -> Iterator[Problem]:
    source = str(path)
    if wrong := wrong_provider(spec.model):
        yield Problem(source, "", "model", wrong, "model")
    scripts = path.parent / "scripts"
    if spec.model.provider == "scripted" and scripts.is_dir() and (wrong := _wrong_script(spec, scripts)):
        yield Problem(source, "", "model", wrong, "model")
    wanted = [
        (tool.name, f"tools[{index}].execution.function", tool.executor.name)
        for index, tool in enumerate(spec.tools)
        if isinstance(tool.executor, PythonFunction)
    ]
    for name, place, wrong in _wrong_functions(wanted, path.parent) if wanted else ():
        yield Problem(source, name, "execution.function", wrong, place)


def _wrong_script(spec: AgentSpec, folder: Path) -> str | None:
    scripts = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in ENDINGS}
    name = spec.model.model
    if name not in scripts:
        return f"has no script: write {folder / name}.yaml{_known('scripted:', name, scripts)}"
    try:
        load_script(scripts[name])
    except Invalid as error:
        return f"has a script that cannot be read: {error.detail}"
    return None


def _wrong_functions(wanted: Iterable[tuple[str, str, str]], folder: Path) -> Iterator[tuple[str, str, str]]:
    file = folder / "tools.py"
    try:
        functions = load_functions(folder)
    except Invalid as error:
        yield from ((name, place, error.detail) for name, place, _ in wanted)
        return
    for name, place, function in wanted:
        if function not in functions:
            advice = f"write a function {function} there, marked with @roomful.tool"
            hint = _known("", function, functions)
            yield name, place, f"is {function!r}, which is not in {file}: {advice}{hint}"


def _known(prefix: str, name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f'. Did you mean "{prefix}{close[0]}"?' if close else ""
