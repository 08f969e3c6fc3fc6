"""A gateway for programs: the same view of a space as the page has, and back by itself after a break.

What happens in a space comes as one of the events listed here.
"""

from roomful.client.client import Client
from roomful.client.following import Happening, LiveSpace, WaitingCard
from roomful.domain.answers import Snapshot
from roomful.domain.events import (
    AgentActive,
    AgentInactive,
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MemberJoined,
    MemberLeft,
    MessageChanged,
    PartReset,
    ReadUpTo,
    RunChanged,
    SpaceEvent,
    SubagentCall,
    SubagentEnded,
    SubagentText,
    TextDelta,
    TextEnded,
    TextStarted,
)

__all__ = [
    "AgentActive",
    "AgentInactive",
    "CallCompleted",
    "CallFailed",
    "CallInput",
    "CallReady",
    "CallStarted",
    "Client",
    "Happening",
    "LiveSpace",
    "MemberJoined",
    "MemberLeft",
    "MessageChanged",
    "PartReset",
    "ReadUpTo",
    "RunChanged",
    "Snapshot",
    "SpaceEvent",
    "SubagentCall",
    "SubagentEnded",
    "SubagentText",
    "TextDelta",
    "TextEnded",
    "TextStarted",
    "WaitingCard",
]
