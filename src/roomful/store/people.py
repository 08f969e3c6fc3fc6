"""Entities, their tokens, and the configurations of agents."""

from collections.abc import Sequence

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.entities import Entity, Principal, Token
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.shape import encode_json
from roomful.store.database import Database, Reader, Write

ERASED = "(erased)"
_decode_agent = msgspec.json.Decoder(Agent).decode

_ADD_ENTITY = "INSERT INTO entities (id, name, kind, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_ADD_TOKEN = """
INSERT INTO tokens (digest, id, entity_id, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"""

_REPLACE_AGENT = "UPDATE agents SET body = ? WHERE id = ? AND body = ?"


def add_entity(entity: Entity) -> Write:
    """An agent may not have the id of a space: on the bus both are written to at `chat:{id}`."""
    values = (entity.id, entity.name, entity.kind, entity.created_at)

    def write(db: Database) -> None:
        if values[2] == "agent":
            db.take_id(values[0])
            if db.rows("SELECT 1 FROM spaces WHERE id = ?", values[:1]):
                raise Conflict(f"There is a space {values[0]} already, and an agent may not have its id.")
        if not db.count(_ADD_ENTITY, values):
            raise Conflict(f"There is an entity {values[0]} already.")

    return write


def erase_entity(entity_id: str) -> Write:
    """All but its messages. A remembered answer may repeat what the entity wrote, so it goes too."""

    def write(db: Database) -> None:
        if not db.count("UPDATE entities SET name = ? WHERE id = ?", (ERASED, entity_id)):
            raise NotFound(f"There is no entity {entity_id}.")
        db.count("DELETE FROM tokens WHERE entity_id = ?", (entity_id,))
        db.count("DELETE FROM answers WHERE owner = ?", (entity_id,))

    return write


def add_token(token: Token, digest: bytes) -> Write:
    values = (digest, token.id, token.entity_id, token.created_at)

    def write(db: Database) -> None:
        if not db.count(_ADD_TOKEN, values):
            raise Conflict(f"There is a token {values[1]} already.")

    return write


def revoke_tokens(entity_id: str, token_id: str | None) -> Write:
    def write(db: Database) -> None:
        if token_id is None:
            db.count("DELETE FROM tokens WHERE entity_id = ?", (entity_id,))
        elif not db.count("DELETE FROM tokens WHERE entity_id = ? AND id = ?", (entity_id, token_id)):
            raise NotFound(f"{entity_id} has no token {token_id}.")

    return write


def put_agent(agent: Agent, *, only_new: bool, was: Agent | None = None) -> Write:
    values = (agent.id, agent.created_at, encode_json(agent).decode())
    before = None if was is None else encode_json(was).decode()

    def write(db: Database) -> None:
        if before is not None:
            if not db.count(_REPLACE_AGENT, (values[2], values[0], before)):
                raise Conflict(f"The agent {values[0]} was changed meanwhile.")
            return
        insert = "INSERT INTO agents (id, created_at, body) VALUES (?, ?, ?) "
        if not only_new:
            db.count(insert + "ON CONFLICT (id) DO UPDATE SET body = excluded.body", values)
        elif not db.count(insert + "ON CONFLICT DO NOTHING", values):
            raise Conflict(f"There is an agent {values[0]} already.")

    return write


def remove_agent(agent_id: str) -> Write:
    def write(db: Database) -> None:
        for table in ("memories", "goals", "grants"):
            db.count(f"DELETE FROM {table} WHERE agent_id = ?", (agent_id,))
        if not db.count("DELETE FROM agents WHERE id = ?", (agent_id,)):
            raise NotFound(f"There is no agent {agent_id}.")

    return write


async def principal(reader: Reader, digest: bytes) -> Principal | None:
    rows = await reader.rows(
        "SELECT e.id, e.kind, t.id FROM tokens t JOIN entities e ON e.id = t.entity_id WHERE t.digest = ?",
        (digest,),
    )
    return Principal(entity_id=rows[0][0], kind=rows[0][1], token_id=rows[0][2]) if rows else None


async def known_tokens(reader: Reader, digests: Sequence[bytes]) -> set[bytes]:
    if not digests:
        return set()
    marks = ", ".join("?" * len(digests))
    rows = await reader.rows(f"SELECT digest FROM tokens WHERE digest IN ({marks})", tuple(digests))
    return {bytes(digest) for (digest,) in rows}


async def entity(reader: Reader, entity_id: str) -> Entity | None:
    rows = await reader.rows("SELECT id, name, kind, created_at FROM entities WHERE id = ?", (entity_id,))
    return Entity(*rows[0]) if rows else None


async def entities(reader: Reader) -> list[Entity]:
    rows = await reader.rows("SELECT id, name, kind, created_at FROM entities ORDER BY created_at, id")
    return [Entity(*row) for row in rows]


async def tokens(reader: Reader, entity_id: str) -> list[Token]:
    rows = await reader.rows(
        "SELECT id, entity_id, created_at FROM tokens WHERE entity_id = ? ORDER BY created_at, id",
        (entity_id,),
    )
    return [Token(*row) for row in rows]


async def agent(reader: Reader, agent_id: str) -> Agent | None:
    rows = await reader.rows("SELECT body FROM agents WHERE id = ?", (agent_id,))
    return _decode_agent(rows[0][0]) if rows else None


async def agents(reader: Reader) -> list[Agent]:
    rows = await reader.rows("SELECT body FROM agents ORDER BY created_at, id")
    return [_decode_agent(body) for (body,) in rows]
