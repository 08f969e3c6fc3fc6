"""From a change to the statements that write it. Here everything mutable is encoded, before it can change."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from roomful.domain.changes import (
    AddAudit,
    AddBlob,
    AddEntity,
    AddGrant,
    AddInvite,
    AddMessage,
    AddSpace,
    AddToken,
    ApproveTools,
    Change,
    EraseEntity,
    ExpectOtherOwner,
    ExpectPlan,
    MarkRead,
    PeopleChange,
    PinTools,
    PutAgent,
    PutGoals,
    PutMember,
    PutMemories,
    PutMeta,
    PutPlan,
    Recall,
    RemoveAgent,
    RemoveGoals,
    RemoveGrant,
    RemoveMember,
    RemoveMemories,
    RemovePlans,
    RemoveSpace,
    RevokeTokens,
    SaveMessage,
    SaveParts,
    SaveSpace,
    ShowBlob,
    UseInvite,
)
from roomful.domain.ports import Clock, KnownAnswer
from roomful.domain.run_changes import (
    AddRun,
    ClaimRun,
    EndLeases,
    ExpectCall,
    ExpectNoneHanded,
    ExpectRoom,
    ExpectStatus,
    Guard,
    Hand,
    KeepAlive,
    Leave,
    Release,
    RunChange,
    SaveCalls,
    SaveRun,
    SaveStep,
    TakeHanded,
    TakeOver,
    Unblock,
)
from roomful.store import (
    audit,
    blobs,
    calls,
    company,
    goals,
    grants,
    invites,
    mcp_pins,
    memories,
    messages,
    people,
    plans,
    remembered,
    runs,
    spaces,
)
from roomful.store.database import Database, Write


def plan(change: Change, clock: Clock) -> Write:
    if isinstance(change, RunChange):
        return _plan_for_runs(change)
    match change:
        case AddMessage():
            return messages.add_message(change.message)
        case SaveMessage():
            return messages.save_message(change.message, change.was)
        case SaveParts():
            return messages.save_parts(change.space_id, change.message_id, change.parts)
        case AddAudit():
            return audit.add_audit(change.row)
        case PutMeta():
            return remembered.put_meta(change.key, change.value)
        case AddGrant():
            return grants.add_grant(change.grant)
        case RemoveGrant():
            return grants.remove_grant(change.space_id, change.grant_id)
        case PinTools():
            return mcp_pins.pin_tools(change.pinned, change.digests)
        case ApproveTools():
            return mcp_pins.approve_tools(change.pinned, change.digests)
        case PutPlan():
            return plans.put_plan(change.plan)
        case ExpectPlan():
            return plans.expect_plan(change.plan)
        case RemovePlans():
            return plans.remove_plans(change.agent_id, change.plan_ids)
        case PutMemories():
            return memories.put_memories(change.agent_id, change.memories, change.most)
        case RemoveMemories():
            return memories.remove_memories(change.agent_id, change.places)
        case PutGoals():
            return goals.put_goals(change.agent_id, change.goals, change.most)
        case RemoveGoals():
            return goals.remove_goals(change.agent_id, change.ids)
        case AddBlob():
            return blobs.add_blob(change.blob, change.data)
        case ShowBlob():
            return blobs.show_blob(change.blob_id, change.space_id)
        case Recall():
            known = KnownAnswer(digest=change.digest, status=change.status, answer=change.answer)
            return remembered.recall(change.owner, change.key, known, clock.now())
        case _:
            return _plan_for_people(change, clock)


def _plan_for_runs(change: RunChange) -> Write:
    match change:
        case Guard():
            return runs.guard(change.lease)
        case AddRun():
            return runs.add_run(change.run, change.lease)
        case SaveRun():
            return runs.save_run(change.run)
        case SaveCalls():
            return calls.save_calls(change.calls)
        case SaveStep():
            return calls.save_step(change.step)
        case ClaimRun():
            return runs.claim_run(change.run_id, change.owner)
        case TakeOver():
            return runs.take_over(change.run_id, change.owner, change.why)
        case Release():
            return runs.release(change.run_id)
        case KeepAlive():
            return runs.keep_alive(change.worker, change.seconds)
        case Leave():
            return runs.leave(change.worker)
        case EndLeases():
            return runs.end_leases(change.but)
        case Unblock():
            return calls.unblock(change.run_id)
        case ExpectStatus():
            return runs.expect_status(change.run_id, change.statuses)
        case ExpectCall():
            return calls.expect_call(change.call_id, change.votes)
        case ExpectRoom():
            return company.expect_room(change)
        case Hand():
            return company.hand(change.handed)
        case TakeHanded():
            return company.take_handed(change.handed)
        case ExpectNoneHanded():
            return company.expect_none_handed(change.run_id)
        case _:
            assert_never(change)


def _plan_for_people(change: PeopleChange, clock: Clock) -> Write:
    match change:
        case AddEntity():
            return people.add_entity(change.entity)
        case EraseEntity():
            return _all(
                people.erase_entity(change.entity_id),
                messages.erase_texts(change.entity_id, change.at),
                blobs.erase_blobs(change.entity_id),
            )
        case AddToken():
            return people.add_token(change.token, change.digest)
        case RevokeTokens():
            return people.revoke_tokens(change.entity_id, change.token_id)
        case PutAgent():
            return people.put_agent(change.agent, only_new=change.only_new, was=change.was)
        case RemoveAgent():
            return _all(
                plans.remove_plans_of(change.agent_id),
                mcp_pins.forget_pins(change.agent_id),
                people.remove_agent(change.agent_id),
            )
        case AddSpace():
            return spaces.add_space(change.space)
        case SaveSpace():
            return spaces.save_space(change.space, change.was)
        case RemoveSpace():
            return spaces.remove_space(change.space_id)
        case PutMember():
            return spaces.put_member(change.space_id, change.entity_id, change.role, clock.now())
        case ExpectOtherOwner():
            return spaces.expect_other_owner(change.space_id, change.entity_id)
        case RemoveMember():
            return spaces.remove_member(change.space_id, change.entity_id)
        case MarkRead():
            return spaces.mark_read(change.space_id, change.entity_id, change.seq)
        case AddInvite():
            return invites.add_invite(change.invite, clock.now())
        case UseInvite():
            return invites.use_invite(change.digest, change.entity_id, clock.now(), change.audited)
        case _:
            assert_never(change)


def spaces_in(changes: Sequence[Change]) -> Iterator[str]:
    """The spaces whose order the changes add to."""
    return (change.message.space_id for change in changes if isinstance(change, AddMessage))


def runs_in(changes: Sequence[Change]) -> Iterator[str]:
    """The runs whose rows the changes hold until their end."""
    for change in changes:
        match change:
            case Guard():
                yield change.lease.run_id
            case SaveRun():
                yield change.run.id
            case Hand():
                yield change.handed.run_id
            case ExpectRoom():
                yield change.root_run_id
            case ClaimRun() | TakeOver() | Release() | Unblock() | ExpectStatus() | ExpectNoneHanded():
                yield change.run_id
            case _:
                pass


def _all(*writes: Write) -> Write:
    def write(db: Database) -> None:
        for each in writes:
            each(db)

    return write
