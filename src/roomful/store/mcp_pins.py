"""What was agreed to of the tools of MCP servers."""

import msgspec

from roomful.domain.errors import NotFound
from roomful.domain.mcp import Pinned
from roomful.domain.shape import encode_json
from roomful.store.database import Database, Reader, Write

_decode = msgspec.json.Decoder(dict[str, str]).decode
_PIN = """
INSERT INTO mcp_pins (agent_id, server, address, digests) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"""
_PINS = "SELECT digests FROM mcp_pins WHERE agent_id = ? AND server = ? AND address = ?"
_APPROVE = "UPDATE mcp_pins SET digests = ? WHERE agent_id = ? AND server = ? AND address = ?"


def pin_tools(pinned: Pinned, digests: dict[str, str]) -> Write:
    """Of several gateways that hear a server for the first time, one pins what it heard."""
    place, first = _place(pinned), encode_json(digests).decode()

    def write(db: Database) -> dict[str, str]:
        db.count(_PIN, (*place, first))
        [(body,)] = db.rows(_PINS, place)
        return _decode(body)

    return write


def approve_tools(pinned: Pinned, digests: dict[str, str]) -> Write:
    place, approved = _place(pinned), dict(digests)

    def write(db: Database) -> None:
        rows = db.rows(f"{_PINS} FOR NO KEY UPDATE", place)
        if not rows:
            raise NotFound(f"Nothing is known of the MCP server {pinned.server}.")
        db.count(_APPROVE, (encode_json(_decode(rows[0][0]) | approved).decode(), *place))

    return write


def forget_pins(agent_id: str) -> Write:
    def write(db: Database) -> None:
        db.count("DELETE FROM mcp_pins WHERE agent_id = ?", (agent_id,))

    return write


async def pins_of(reader: Reader, pinned: Pinned) -> dict[str, str] | None:
    rows = await reader.rows(_PINS, _place(pinned))
    return _decode(rows[0][0]) if rows else None


def _place(pinned: Pinned) -> tuple[str, str, str]:
    return pinned.agent_id, pinned.server, pinned.address
