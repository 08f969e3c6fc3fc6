"""Parts that appear whole, because nothing of them was seen while they were written."""

from roomful.domain.changes import Change
from roomful.domain.errors import OverBound
from roomful.domain.events import Announcement
from roomful.domain.messages import ToolCallPart
from roomful.domain.ports import Ids
from roomful.domain.runs import SETTLED, Call
from roomful.domain.shape import UNSET
from roomful.domain.tools import ToolCallShape, ToolSpec
from roomful.routing.redact import settled_event, shown_args, shown_error, shown_result
from roomful.runs.bounds import Bounds
from roomful.spaces.voice import Voice


def show_call(voice: Voice, call: Call, spec: ToolSpec, ids: Ids) -> tuple[list[Change], list[Announcement]]:
    """A call's result, or a question that nobody expected."""
    changes: list[Change] = []
    heard: list[Announcement] = []
    audience = call.target_entity_id or None
    if call.question is not UNSET and not call.space_ids and call.active_space_id is not UNSET:
        call.space_ids = [call.active_space_id]
    if not call.space_ids and call.status == "waiting":
        call.status, call.error = "error", "it asked a question, and there is no space where to ask it"
    for space_id in call.space_ids:
        joined, news = voice.joins(space_id)
        place, opened, is_new = voice.show_whole(space_id, _part_of(call, spec, ids))
        call.places = [*call.places, place]
        changes += [*joined, *opened]
        heard += news
        if call.status in SETTLED:
            heard.append(voice.about(space_id, settled_event(call, place), audience))
        change = voice.changed(space_id, place.part_id, call.id)
        change.opens = is_new
        heard.append(change)
    return changes, heard


async def show_bound(voice: Voice, bounds: Bounds, bound: OverBound, space_id: str) -> None:
    """A limit that was hit is a part like any other, with its reason."""
    await show_part(voice, bounds.part(bound, voice.run), space_id)


async def show_part(voice: Voice, part: ToolCallPart, space_id: str) -> None:
    joined, heard = voice.joins(space_id)
    place, opened, is_new = voice.show_whole(space_id, part)
    change = voice.changed(space_id, place.part_id, part.tool_call_id)
    change.opens = is_new
    await voice.kept([*joined, *opened, *voice.saved(space_id)], [*heard, change])


def _part_of(call: Call, spec: ToolSpec, ids: Ids) -> ToolCallPart:
    component = spec.shape.component if isinstance(spec.shape, ToolCallShape) else None
    return ToolCallPart(
        id=ids.new("prt"),
        tool_call_id=call.id,
        tool_name=call.tool_name,
        run_id=call.run_id,
        status=call.status,
        args=shown_args(call),
        result=shown_result(call),
        error=shown_error(call) if call.status == "error" else UNSET,
        question=call.question,
        custom_ui=component or UNSET,
        target_entity_id=call.target_entity_id,
        step=call.step or UNSET,
    )
