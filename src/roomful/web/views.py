"""Nouns as a caller may see them."""

from collections.abc import Sequence

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.answers import SpaceOfMine
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.spaces import MySpace, Space
from roomful.spaces.run_news import run_through
from roomful.tools.sealing import open_secrets, seal_secrets

MASK = "***"


class AgentSeen(Noun):
    """Of somebody else's agent, only who it is."""

    id: str
    name: str
    owner_id: str | Unset = UNSET
    config: dict[str, Json] | Unset = UNSET
    created_at: str | Unset = UNSET
    updated_at: str | Unset = UNSET


def space_of_mine(mine: MySpace) -> SpaceOfMine:
    space = space_of_nobody(mine.space)
    return msgspec.structs.replace(space, role=mine.role, unread=mine.unread, last_seq=mine.last_seq)


def space_of_nobody(space: Space) -> SpaceOfMine:
    return SpaceOfMine(**msgspec.structs.asdict(space))


def agent_of_mine(agent: Agent) -> AgentSeen:
    """With its configuration, but for the secrets in it."""
    hidden = seal_secrets(agent.config, lambda _: "")
    seen = AgentSeen(**msgspec.structs.asdict(agent))
    seen.config = open_secrets(hidden, lambda _: MASK)
    return seen


def agent_of_others(agent: Agent) -> AgentSeen:
    return AgentSeen(id=agent.id, name=agent.name)


def run_seen(run: Run, through: Sequence[str] | None) -> Run:
    """A run as redacted as the spaces are through which it is seen; None: whole."""
    return run if through is None else run_through(run, through)
