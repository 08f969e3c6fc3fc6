"""What can be written. A commit is a list of these, all of them or none; the store does the rest."""

from typing import TypeAlias

from roomful.domain.agents import Agent
from roomful.domain.audit import Audited
from roomful.domain.blobs import Blob
from roomful.domain.entities import Entity, Token
from roomful.domain.goals import Goal
from roomful.domain.grants import Grant
from roomful.domain.invites import Invite
from roomful.domain.mcp import Pinned
from roomful.domain.memories import Memory
from roomful.domain.messages import Message, Part
from roomful.domain.plans import Plan
from roomful.domain.run_changes import RunChange
from roomful.domain.shape import Frozen
from roomful.domain.spaces import Role, Space


class AddEntity(Frozen):
    """Conflict when the id is taken; an agent's also by a space."""

    entity: Entity


class EraseEntity(Frozen):
    """The name and every text of this entity go; its messages keep their places; its tokens end."""

    entity_id: str
    at: str


class AddToken(Frozen):
    token: Token
    digest: bytes


class RevokeTokens(Frozen):
    """One token of an entity, or all of them."""

    entity_id: str
    token_id: str | None = None


class PutAgent(Frozen):
    agent: Agent
    only_new: bool = False
    was: Agent | None = None
    """Conflict unless it is still as it was read."""


class RemoveAgent(Frozen):
    """The agent with its plans, memories and goals."""

    agent_id: str


class AddSpace(Frozen):
    """Conflict when the id is taken, also by an agent."""

    space: Space


class SaveSpace(Frozen):
    space: Space
    was: Space | None = None
    """Conflict unless it is still as it was read."""


class RemoveSpace(Frozen):
    """The space with its members and messages, and what agents learned there."""

    space_id: str


class PutMember(Frozen):
    space_id: str
    entity_id: str
    role: Role


class ExpectOtherOwner(Frozen):
    """Conflict when this entity is the only owner of the space, also if the others go at the same moment."""

    space_id: str
    entity_id: str


class RemoveMember(Frozen):
    """NotFound when there is no such member."""

    space_id: str
    entity_id: str


class MarkRead(Frozen):
    """Never moves backwards."""

    space_id: str
    entity_id: str
    seq: int


class AddMessage(Frozen):
    """Gives the message the space's next `seq` and answers with it. NotFound when the space is gone."""

    message: Message


class SaveMessage(Frozen):
    """The whole message as it stands now. Its `seq` never changes, and a part that was answered
    (`answered_at` is set in the stored one) is not overwritten by one that does not know of the answer.
    Answers with these parts as they are stored."""

    message: Message
    was: Message | None = None
    """Conflict unless it is still as it was read."""


class SaveParts(Frozen):
    """These parts of a message and no others. Answers with the message as it is stored then; None when it is
    gone, and nothing happens."""

    space_id: str
    message_id: str
    parts: tuple[Part, ...]


class Recall(Frozen):
    """The answer to a request with this key. Conflict when the key is known already."""

    owner: str
    key: str
    digest: bytes
    status: int
    answer: bytes


class AddAudit(Frozen):
    """Twice is the same as once."""

    row: Audited


class PutMeta(Frozen):
    """A setting of the house's own, in the place of what was there."""

    key: str
    value: str


class AddGrant(Frozen):
    grant: Grant


class RemoveGrant(Frozen):
    """NotFound when the space has no such grant."""

    space_id: str
    grant_id: str


class PinTools(Frozen):
    """The digests of a server's tools by name, unless some are pinned already; answers with what is."""

    pinned: Pinned
    digests: dict[str, str]


class ApproveTools(Frozen):
    """From now on these digests count, beside those of the other tools. NotFound when nothing is pinned."""

    pinned: Pinned
    digests: dict[str, str]


class PutPlan(Frozen):
    """OverBound when the agent has too many active plans then; of its completed ones the latest are kept.
    NotFound when there is no such agent."""

    plan: Plan


class ExpectPlan(Frozen):
    """Conflict unless the plan is still as it was read: of several who fire or change it, one does."""

    plan: Plan


class RemovePlans(Frozen):
    """Answers with the ids of those that the agent had."""

    agent_id: str
    plan_ids: tuple[str, ...]


class PutMemories(Frozen):
    """Each is new, or replaces the one of its space and key; answers with them as stored. NotFound when the
    agent or a space is gone, OverBound when the agent would have more than `most`."""

    agent_id: str
    memories: tuple[Memory, ...]
    most: int


class RemoveMemories(Frozen):
    """By space, or None, and key. Answers how many there were."""

    agent_id: str
    places: tuple[tuple[str | None, str], ...]


class PutGoals(Frozen):
    """Like PutMemories, by id."""

    agent_id: str
    goals: tuple[Goal, ...]
    most: int


class RemoveGoals(Frozen):
    """Answers how many there were."""

    agent_id: str
    ids: tuple[str, ...]


class AddInvite(Frozen):
    """NotFound when there is no such space."""

    invite: Invite


class UseInvite(Frozen):
    """Makes the entity a member and answers with Joined. One invitation has one winner. NotFound when it was
    used, has expired, or its maker owns the space no more; Conflict, and it stays good, for a member."""

    digest: bytes
    entity_id: str
    audited: Audited | None = None
    """Added with the space and the role that the invitation was for."""


class AddBlob(Frozen):
    """NotFound when there is no such owner."""

    blob: Blob
    data: bytes


class ShowBlob(Frozen):
    """From now on the space's members may have it. Twice is the same as once."""

    blob_id: str
    space_id: str


PeopleChange: TypeAlias = (
    AddEntity
    | EraseEntity
    | AddToken
    | RevokeTokens
    | PutAgent
    | RemoveAgent
    | AddSpace
    | SaveSpace
    | RemoveSpace
    | PutMember
    | ExpectOtherOwner
    | RemoveMember
    | MarkRead
    | AddInvite
    | UseInvite
)
Change: TypeAlias = (
    PeopleChange
    | RunChange
    | AddMessage
    | SaveMessage
    | SaveParts
    | Recall
    | AddBlob
    | ShowBlob
    | AddAudit
    | PutMeta
    | AddGrant
    | RemoveGrant
    | PinTools
    | ApproveTools
    | PutMemories
    | RemoveMemories
    | PutGoals
    | RemoveGoals
    | PutPlan
    | ExpectPlan
    | RemovePlans
)
