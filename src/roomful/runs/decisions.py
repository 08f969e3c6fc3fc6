"""What a person may say to a call that needs their consent, and what it makes of the call."""

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.grants import Grant, hash_of
from roomful.domain.ports import Clock, Ids
from roomful.domain.runs import Call
from roomful.domain.shape import UNSET, Json, Unset
from roomful.domain.tools import ToolSpec
from roomful.tools import check_arguments


class Decision(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`args` replace the call's; `remember` saves a rule for this agent, tool and space."""

    approved: bool
    args: dict[str, Json] | Unset = UNSET
    reason: str = ""
    remember: str | Unset = UNSET


def read_decision(result: Json) -> Decision:
    try:
        decision = msgspec.convert(result, Decision)
    except msgspec.ValidationError as error:
        raise Invalid(
            f'result: {error}; say {{"approved": true}} or {{"approved": false, "reason": "…"}}'
        ) from None
    if decision.remember not in (UNSET, "tool", "arguments"):
        raise Invalid('result: remember is "tool" or "arguments"')
    if not decision.approved and (decision.args is not UNSET or decision.remember is not UNSET):
        raise Invalid("result: a refusal has a reason only, no args and nothing to remember")
    return decision


def apply_decision(decision: Decision, spec: ToolSpec, call: Call, who: str) -> None:
    """An approval is bound to the exact arguments: the edited ones, or those that were shown. What comes from
    another space is agreed to as it is, once."""
    if call.held and (decision.args is not UNSET or decision.remember is not UNSET):
        raise Invalid("result: this is about one text from another space: agree to it as it is, or do not")
    if not decision.approved:
        call.reason = decision.reason or UNSET
        reason = f": {decision.reason}" if decision.reason else ""
        call.status, call.error = "error", f"{who} did not approve this call{reason}"
        return
    if decision.args is not UNSET:
        if (problem := check_arguments(spec, decision.args)) is not None:
            raise Invalid(f"result: args: {problem}")
        call.args = decision.args
        call.raw_args = UNSET
    call.status = "ready"


def grants_from(
    decision: Decision, spec: ToolSpec, call: Call, agent_id: str, who: str, clock: Clock, ids: Ids
) -> list[Grant]:
    """The rules that a decision saves, one per space where the card was shown."""
    assert spec.approval is not None
    exact = decision.remember == "arguments" or spec.approval.when == "new-arguments"
    if not decision.approved or not (exact or decision.remember == "tool"):
        return []
    is_exact = decision.remember != "tool"
    return [
        Grant(
            id=ids.new("grt"),
            space_id=space_id,
            agent_id=agent_id,
            tool_name=call.tool_name,
            granted_by=who,
            created_at=clock.iso(),
            args_hash=hash_of(call.tool_name, call.args) if is_exact else UNSET,
        )
        for space_id in call.space_ids
    ]
