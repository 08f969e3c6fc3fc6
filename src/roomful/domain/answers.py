"""What the API answers with beyond the nouns themselves. The web writes it, and clients read it."""

from roomful.domain.events import RunChanged
from roomful.domain.messages import Message
from roomful.domain.runs import WAITING, Run, WaitsFor
from roomful.domain.shape import UNSET, Noun, Unset
from roomful.domain.spaces import Flow, Member, Role, Wake


class SpaceOfMine(Noun):
    """A space with my place in it; the admin has none."""

    id: str
    name: str
    created_at: str
    wake: Wake
    flow: Flow
    admin_agent_id: str | Unset = UNSET
    alias: str | Unset = UNSET
    role: Role | Unset = UNSET
    unread: int | Unset = UNSET
    last_seq: int | Unset = UNSET


class RunBegun(Noun):
    run_id: str
    agent_id: str


class MessagePosted(Noun):
    message: Message
    runs: list[RunBegun]


class MessagePage(Noun):
    messages: list[Message]
    position: str
    has_more: bool


class Snapshot(Noun):
    """A space as of the position that it came with: its last messages, who is there, and who is at work."""

    messages: list[Message]
    members: list[Member]
    runs: list[Run]
    has_more: bool = False
    """There are older messages."""


def run_as_told(run: Run, space_id: str) -> RunChanged:
    """What would be announced of a run that is as somebody was already allowed to see it. Whether a run asks
    people is not known to those who see nothing of what it waits for."""
    awaited = run.pending_tool_calls if run.status in WAITING else []
    kinds: list[WaitsFor] = [one.waits_for for one in awaited if one.waits_for is not UNSET]
    return RunChanged(
        space_id=space_id,
        run_id=run.id,
        entity_id=run.agent_id,
        status=run.status,
        trigger=run.trigger,
        pending_tool_calls=run.pending_tool_calls or UNSET,
        waits_for=kinds or UNSET,
        asks_people=any(one.asks_people for one in awaited) if awaited else UNSET,
        error=run.error,
        root_run_id=run.root_run_id if run.parent_call_id is not UNSET else UNSET,
    )
