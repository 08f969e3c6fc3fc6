"""Agent configurations on their way in: checked, their secrets sealed; and from files into the store."""

import difflib
import hashlib
import importlib.util
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roomful.app.sealing import SecretBox
from roomful.domain.agents import Agent, AgentSpec
from roomful.domain.audit import digest_of
from roomful.domain.changes import AddEntity, Change, PutAgent
from roomful.domain.entities import ADMIN, OPERATOR, Entity
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.shape import encode_json
from roomful.executors.python import PythonTool, tools_in
from roomful.settings import Settings
from roomful.tools import (
    configure,
    find_literal_secrets,
    find_sealed,
    open_secrets,
    parse_config,
    seal_secrets,
)

if TYPE_CHECKING:
    from roomful.web import House

ENDINGS = (".yaml", ".yml", ".json")


class Configs:
    def __init__(self, settings: Settings, box: SecretBox) -> None:
        self._settings = settings
        self._box = box
        self._sealed: dict[str, str] = {}

    def check(self, config: dict[str, Any], source: str, *, trusted: bool = False) -> dict[str, Any]:
        """The configuration as it is to be stored. Raises Invalid with everything that is wrong with it."""
        configure(config, source=source, trusted=trusted)
        if sealed := find_sealed(config):
            raise Invalid(f"{', '.join(sealed)}: write the secret itself or ${{env.NAME}}, not a sealed one")
        literal = find_literal_secrets(config)
        if literal and not self._box.can_seal:
            raise Invalid(
                f"{', '.join(literal)}: a secret is not stored in clear; write ${{env.NAME}} and list NAME "
                "in ROOMFUL_TOOL_ENV, or set ROOMFUL_SECRET_KEY so that it can be sealed"
            )
        return seal_secrets(config, self._box.seal) if literal else config

    def ready(self, config: dict[str, Any]) -> dict[str, Any]:
        """The stored configuration, with each sealed secret as a variable that only this house can read: so
        that whoever uses it knows it for a secret."""
        return open_secrets(config, self._reference)

    def variable(self, name: str) -> str:
        """The value of `${env.NAME}` in a tool or a model."""
        if name in self._sealed:
            return self._box.open(self._sealed[name])
        return self._settings.tool_variable(name)

    def reveal(self, text: str) -> str:
        """What stands behind a model's key."""
        if text.startswith("${env.") and text.endswith("}"):
            return self.variable(text[6:-1])
        return text

    def _reference(self, sealed: str) -> str:
        name = f"ROOMFUL_SEALED_{hashlib.sha256(sealed.encode()).hexdigest()[:32]}"
        self._sealed[name] = sealed
        return f"${{env.{name}}}"


def read_config(path: Path) -> dict[str, Any]:
    """One agent configuration file, JSON or YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except IsADirectoryError:
        raise Invalid(f"{path}: is a folder: name the files in it, as in {path / '*.yaml'}") from None
    except FileNotFoundError:
        raise Invalid(f"{path}: there is no such file{_similar(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: cannot be read: {error}") from None
    return parse_config(text, source=str(path))


def _similar(path: Path) -> str:
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, beside, 1)
    return f". Did you mean {path.with_name(close[0])}?" if close else ""


def config_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise Invalid(f"{folder}: there is no such folder of agents")
    return sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)


def load_functions(folder: Path) -> dict[str, PythonTool]:
    """The functions marked with `@roomful.tool` in the folder's `tools.py`, if there is one. Raises Invalid,
    with the line, when it cannot be run."""
    path = folder / "tools.py"
    if not path.is_file():
        return {}
    spec = importlib.util.spec_from_file_location("roomful_own_tools", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the operator's own code, which may raise anything
        what = error.detail if isinstance(error, Invalid) else f"{type(error).__name__}: {error}"
        raise Invalid(f"{path}{_line_of(error, path.absolute())}: {what}") from error
    return tools_in(vars(module))


def _line_of(error: Exception, path: Path) -> str:
    """The last line of the file that led to the error."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return f", line {lines[-1]}" if lines else ""


async def load_agents(house: "House", configs: Configs, folder: Path, *, owner_id: str = ADMIN) -> list[str]:
    """Puts every configuration of a folder into the store."""
    files = ((str(path), read_config(path)) for path in config_files(folder))
    return await put_agents(house, configs, files, owner_id=owner_id)


def read_given(given: Iterable[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Configurations that a program has, read as if each stood in a file."""
    read: list[tuple[str, dict[str, Any]]] = []
    for number, config in enumerate(given):
        source = f"agents[{number}]"
        try:
            text = encode_json(config).decode()
        except (TypeError, ValueError) as error:
            raise Invalid(f"{source}: cannot be written as JSON: {error}") from None
        read.append((source, parse_config(text, source=source)))
    return read


async def put_agents(
    house: "House",
    configs: Configs,
    given: Iterable[tuple[str, dict[str, Any]]],
    *,
    owner_id: str = ADMIN,
) -> list[str]:
    """Stores what is new of these configurations, each with where it stands; the operator owns them, unless
    somebody else is named."""
    loaded: list[str] = []
    for source, config in given:
        spec = configure(config, source=source, trusted=True)
        sealed = configs.check(config, source, trusted=True)
        try:
            is_new = await _load_agent(house, spec, sealed, owner_id)
        except Conflict:
            is_new = await _load_agent(house, spec, sealed, owner_id)
        if is_new:
            loaded.append(spec.id)
    return loaded


async def _load_agent(house: "House", spec: AgentSpec, config: dict[str, Any], owner_id: str) -> bool:
    """Whether it had to be stored. Conflict when another gateway did that in between."""
    store = house.store
    known = await store.agent(spec.id)
    if known is not None and known.config == config and owner_id in (ADMIN, known.owner_id):
        return False
    now = house.clock.iso()
    changes: list[Change] = []
    if await store.entity(spec.id) is None:
        changes.append(AddEntity(Entity(id=spec.id, name=spec.name, kind="agent", created_at=now)))
    created = known.created_at if known else now
    agent = Agent(
        id=spec.id, name=spec.name, owner_id=owner_id, config=config, created_at=created, updated_at=now
    )
    action = "agent.changed" if known else "agent.created"
    detail = {"configDigest": digest_of(config)}
    told = house.audit(OPERATOR, action, agent_id=agent.id, entity_id=agent.id, detail=detail)
    await store.commit([*changes, PutAgent(agent), told])
    return True
