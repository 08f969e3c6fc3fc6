"""What stands in `world.yaml`."""

from pathlib import Path

import msgspec
import yaml

from roomful.domain.shape import UNSET, Noun, Unset
from roomful.domain.spaces import Role
from roomful.web.routes.demo import DemoStory

FOLDER = Path(__file__).parent
AGENTS = FOLDER / "agents"


class Person(Noun):
    id: str
    name: str
    about: str


class Place(Noun):
    id: str
    name: str
    members: dict[str, Role]
    admin_agent_id: str | Unset = UNSET


class World(Noun):
    owner: str
    """Who has the agents, and so sees all that they do."""
    people: list[Person]
    spaces: list[Place]
    stories: list[DemoStory]


def read_world() -> World:
    return msgspec.convert(yaml.safe_load((FOLDER / "world.yaml").read_text(encoding="utf-8")), World)
