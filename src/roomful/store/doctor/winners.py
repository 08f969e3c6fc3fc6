"""A call is settled once, by one: its row and every part that shows it agree."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from roomful.domain.messages import MemberAnswer, Message, ToolCallPart
from roomful.domain.runs import ENDED, SETTLED, Call
from roomful.domain.shape import UNSET, Unset
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot

_CHILDREN = """
SELECT parent_call_id, count(*) FROM runs WHERE parent_call_id IS NOT NULL
GROUP BY parent_call_id HAVING count(*) > 1"""

_decode_call = msgspec.json.Decoder(Call).decode


def shown_as_settled(db: Snapshot, place: str, message: Message, run_status: str | None) -> Findings:
    parts = [part for part in message.parts if isinstance(part, ToolCallPart) and part.run_id]
    calls = _calls(db, [part.tool_call_id for part in parts])
    for part in parts:
        yield from _votes("messages", f"{place}/{part.id}", part.answers)
        call = calls.get(part.tool_call_id)
        if call is None or _is_of_an_earlier_try(part, call):
            continue
        if why := _disagree(part, call, run_status):
            problem = f"part {part.id} {why} of call {call.id}: keep the call's, which the run was told"
            yield Finding("two_winners", "messages", place, problem)


def _is_of_an_earlier_try(part: ToolCallPart, call: Call) -> bool:
    """A step that is asked for again keeps the ids of its calls: one that shows itself elsewhere this time
    leaves a canceled part behind."""
    return part.status == "canceled" and all(place.part_id != part.id for place in call.places)


def _calls(db: Snapshot, ids: Sequence[str]) -> dict[str, Call]:
    if not ids:
        return {}
    sql = f"SELECT id, body FROM calls WHERE id IN ({', '.join('?' * len(ids))})"
    found: dict[str, Call] = {}
    for call_id, body in db.rows(sql, tuple(ids)):
        try:
            found[call_id] = _decode_call(body)
        except msgspec.MsgspecError:
            continue
    return found


def _disagree(part: ToolCallPart, call: Call, run_status: str | None) -> str | None:
    """While a run is at work its message may be a moment behind."""
    is_over = run_status in ENDED
    settled = part.status in SETTLED, call.status in SETTLED
    if part.status != call.status and (all(settled) or (is_over and any(settled))):
        return f"is {part.status} and not {call.status}, the outcome"
    if part.answered_by and call.answered_by and part.answered_by != call.answered_by:
        return f"was answered by {part.answered_by} and not by {call.answered_by}, who won the answer"
    return None


def call_votes(db: Snapshot) -> Findings:
    for call_id, body in db.rows("SELECT id, body FROM calls"):
        try:
            answers = _decode_call(body).answers
        except msgspec.MsgspecError:
            continue
        yield from _votes("calls", call_id, answers)


def _votes(table: str, row: str, answers: list[MemberAnswer] | Unset) -> Findings:
    if answers is UNSET:
        return
    for entity_id, count in Counter(answer.entity_id for answer in answers).items():
        if count > 1:
            problem = f"{entity_id} has {count} votes in this poll: keep the last one"
            yield Finding("voted_twice", table, row, problem)


def children(db: Snapshot) -> Findings:
    for call_id, count in db.rows(_CHILDREN):
        problem = f"{count} runs were started for this call: cancel all but the one that it shows"
        yield Finding("two_children", "calls", call_id, problem)
