"""What ended has nothing unfinished in it, and what has not is driven by somebody or waits for something."""

import msgspec

from roomful.domain.messages import UNSETTLED, Message, ToolCallPart
from roomful.domain.runs import ENDED, Call
from roomful.domain.shape import UNSET
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot

_NOT_DRIVEN = """
SELECT r.id, r.owner FROM runs r LEFT JOIN workers w ON w.id = r.owner AND w.until >= moment()
WHERE r.status = 'running' AND w.id IS NULL ORDER BY r.created_at, r.id"""
_WAITING = "SELECT id, status FROM runs WHERE status IN ('waiting_tool', 'waiting_reply')"
_CALLS_OF_ENDED = """
SELECT c.id, c.status, r.id, r.status, c.body FROM calls c JOIN runs r ON r.id = c.run_id
WHERE c.status IN ('ready', 'running', 'waiting') AND r.status IN ('completed', 'failed', 'canceled')"""

_decode_call = msgspec.json.Decoder(Call).decode


def message_ends(place: str, message: Message, run_status: str | None) -> Findings:
    """`run_status` is None where there is no run."""
    if run_status is not None and run_status not in ENDED:
        return
    why = f"its run is {run_status}" if run_status is not None else "no run goes on with it"
    if message.status == "open":
        yield Finding("no_end", "messages", place, f"is open, but {why}: set its status to final")
    for part in message.parts:
        what = f"part {part.id}"
        if part.status in UNSETTLED:
            problem = f"{what} is {part.status}, but {why}: set it to canceled"
            yield Finding("no_end", "messages", place, problem)
        elif isinstance(part, ToolCallPart) and part.child and part.child.status == "running":
            problem = f"{what} shows a sub-agent at work, but {why}: set the child to canceled"
            yield Finding("no_end", "messages", place, problem)


def owners(db: Snapshot) -> Findings:
    for run_id, owner in db.rows(_NOT_DRIVEN):
        whose = "nobody drives it" if owner is None else f"its worker {owner} is gone"
        problem = f"is running, but {whose}: start a gateway, which takes it up within seconds"
        yield Finding("no_owner", "runs", run_id, problem)


def waits(db: Snapshot) -> Findings:
    for run_id, status in db.rows(_WAITING):
        if not any(map(_blocks, _waiting_calls(db, run_id))):
            problem = f"is {status}, but none of its calls waits: set status and body to queued"
            yield Finding("waits_for_nothing", "runs", run_id, problem)


def _waiting_calls(db: Snapshot, run_id: str) -> list[str]:
    sql = "SELECT body FROM calls WHERE run_id = ? AND status = 'waiting'"
    return [body for (body,) in db.rows(sql, (run_id,))]


def _blocks(body: str) -> bool:
    """Not a card that may be answered at any time: the model was told so already."""
    try:
        return _decode_call(body).told is UNSET
    except msgspec.MsgspecError:
        return True


def calls_of_ended(db: Snapshot) -> Findings:
    for call_id, status, run_id, run_status, body in db.rows(_CALLS_OF_ENDED):
        if status != "waiting" or _blocks(body):
            problem = f"is {status}, but its run {run_id} is {run_status}: set status and body to canceled"
            yield Finding("no_end", "calls", call_id, problem)
