"""Most rows hold their thing as JSON, and beside it the columns it is found by. Both say the same."""

from collections.abc import Callable
from typing import Any

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.goals import Goal
from roomful.domain.grants import Grant
from roomful.domain.memories import Memory
from roomful.domain.messages import Message, answered_parts, delegations, is_private
from roomful.domain.plans import Plan
from roomful.domain.runs import Call, Handed, Run, Step
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Space
from roomful.store.calls import space_awaited
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot
from roomful.store.runs import tokens_of


class Kept(msgspec.Struct, frozen=True):
    """How a table keeps its things: the first `key` columns are the row's key, and what a column holds is
    the thing's attribute of this name unless `derived` says otherwise."""

    table: str
    noun: type[msgspec.Struct]
    columns: tuple[str, ...]
    key: int = 1
    derived: dict[str, Callable[[Any], object]] = {}


KEPT = (
    Kept("spaces", Space, ("id", "created_at")),
    Kept("agents", Agent, ("id",)),
    Kept(
        "messages",
        Message,
        ("space_id", "seq", "id", "entity_id", "run_id", "status", "is_private", "is_answered", "delegates"),
        key=2,
        derived={
            "is_private": is_private,
            "is_answered": lambda message: bool(answered_parts(message)),
            "delegates": lambda message: bool(delegations(message)),
        },
    ),
    Kept(
        "runs",
        Run,
        (
            *("id", "agent_id", "status", "root_run_id", "created_at", "ended_at"),
            *("parent_call_id", "started_by", "in_turn", "tokens"),
        ),
        derived={"in_turn": lambda run: bool(run.in_turn), "tokens": tokens_of},
    ),
    Kept(
        "calls",
        Call,
        ("id", "run_id", "step", "idx", "status", "deadline", "waits_for", "waits_in"),
        derived={"idx": lambda call: call.index, "waits_in": space_awaited},
    ),
    Kept("steps", Step, ("run_id", "number"), key=2),
    Kept("handed", Handed, ("run_id", "message_id", "step"), key=2),
    Kept("grants", Grant, ("id", "space_id", "agent_id", "created_at")),
    Kept("plans", Plan, ("id", "agent_id", "next_at", "updated_at")),
    Kept("memories", Memory, ("agent_id", "space_id", "key", "updated_at"), key=3),
    Kept("goals", Goal, ("id", "agent_id", "space_id", "updated_at")),
)


def bodies(db: Snapshot) -> Findings:
    for kept in KEPT:
        decode = msgspec.json.Decoder(kept.noun).decode
        for *columns, body in db.rows(f"SELECT {', '.join(kept.columns)}, body FROM {kept.table}"):
            row = "/".join(str(value) for value in columns[: kept.key])
            try:
                thing = decode(body)
            except msgspec.MsgspecError as error:
                problem = f"its body cannot be read ({error}): restore the row from a backup"
                yield Finding("body", kept.table, row, problem)
            else:
                yield from _differences(kept, row, columns, thing)


def _differences(kept: Kept, row: str, columns: list[object], thing: msgspec.Struct) -> Findings:
    for column, value in zip(kept.columns, columns, strict=True):
        said = kept.derived[column](thing) if column in kept.derived else getattr(thing, column)
        said = None if said is UNSET else said
        if said != value:
            problem = f"{column} is {value!r}, but its body says {said!r}: restore the row from a backup"
            yield Finding("body", kept.table, row, problem)
