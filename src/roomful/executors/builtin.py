"""What only the house itself can do: speak in a space, read what was said, know one's own runs."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping

from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext, Store
from roomful.domain.runs import WAITING, Run
from roomful.domain.shape import UNSET, Json, clean_text
from roomful.domain.tools import Builtin, ToolSpec
from roomful.executors.scoped import in_scope
from roomful.recall.context import in_words
from roomful.spaces.blobs import may_have
from roomful.spaces.history import History

Operation = Callable[[CallContext], Awaitable[Outcome]]
READ_LIMIT = 200
"""Messages or runs in one answer; the schemas say so too."""
FARTHEST = 2**31
"""How many messages can be skipped."""
READ_CHARACTERS = 8000
"""Of each tool call's input and output, when an agent reads a space."""
PIECE_LIMIT = 10_000
"""Characters of a text. Even if every one has to be escaped, a piece is no longer too large to be told."""

_TEXTS = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|toml|javascript|sql|ndjson)|image/svg\+xml")


class BuiltinExecutor:
    """`more` are operations that are written elsewhere, by name."""

    has_effects = False

    def __init__(self, store: Store, history: History, *more: Mapping[str, Operation]) -> None:
        self._store = store
        self._history = history
        self._operations: dict[str, Operation] = {
            "say": self._said,
            "enter_space": self._enter,
            "read_messages": self._read,
            "my_runs": self._my_runs,
            "read_blob": self._read_blob,
        }
        for operations in more:
            self._operations |= operations

    def can(self, spec: ToolSpec) -> bool:
        return isinstance(spec.executor, Builtin) and spec.executor.operation in self._operations

    async def execute(self, context: CallContext) -> Outcome:
        assert isinstance(context.spec.executor, Builtin)
        return await self._operations[context.spec.executor.operation](context)

    async def _said(self, context: CallContext) -> Outcome:
        """The words were streamed while they were written; this only says so."""
        if not context.call.places:
            return Failed("nobody heard this: you are in no space; enter or name one of your spaces")
        return Done({"sent": True, "messageId": context.call.places[0].message_id})

    async def _enter(self, context: CallContext) -> Outcome:
        space_id = str(context.args.get("spaceId", ""))
        return await self._messages(context, space_id, limit=context.args.get("limit") or 10, offset=0)

    async def _read(self, context: CallContext) -> Outcome:
        space_id = context.args.get("spaceId") or context.call.active_space_id
        if not space_id:
            return Failed("you are in no space: give spaceId")
        limit, offset = context.args.get("limit") or 20, context.args.get("offset") or 0
        return await self._messages(context, space_id, limit=limit, offset=offset)

    async def _messages(self, context: CallContext, space_id: str, *, limit: Json, offset: Json) -> Outcome:
        if await self._store.role(space_id, context.agent_id) is None:
            return Failed(f"there is no space {space_id!r} that you are in")
        messages = await self._history.recent(
            space_id, context.agent_id, min(int(limit), READ_LIMIT), skipped=min(int(offset), FARTHEST)
        )
        told = [
            {"id": m.id, "from": m.entity_id, "at": m.created_at, "text": in_words(m, READ_CHARACTERS)}
            for m in messages
        ]
        return Done({"spaceId": space_id, "messages": told}, read_spaces=(space_id,))

    async def _my_runs(self, context: CallContext) -> Outcome:
        wanted = context.args.get("status")
        runs = await self._store.runs(
            agent_id=context.agent_id,
            statuses=[wanted] if wanted else [],
            limit=min(int(context.args.get("limit") or 20), READ_LIMIT),
        )
        runs = await in_scope(self._store, context, runs, lambda run: run.trigger.space_id or run.asks_in)
        told = [
            {
                "id": run.id,
                "status": run.status,
                "trigger": run.trigger.type,
                "spaceId": run.trigger.space_id if run.trigger.space_id is not UNSET else None,
                "createdAt": run.created_at,
                "isThisRun": run.id == context.run.id,
                **_waiting_for(run),
            }
            for run in runs
        ]
        return Done({"runs": told})

    async def _read_blob(self, context: CallContext) -> Outcome:
        blob_id = clean_text(str(context.args.get("blobId", "")))
        blob = await self._store.blob(blob_id)
        if blob is None or not await may_have(self._store, blob, context.agent_id):
            return Failed(f"there is no result or file {blob_id[:80]!r} that you may read")
        if not _TEXTS.fullmatch(blob.media_type):
            return Failed(f"{blob_id} is {blob.media_type}: only texts can be read")
        data = await self._store.blob_data(blob_id) or b""
        start = max(0, int(context.args.get("offset") or 0))
        limit = max(1, min(int(context.args.get("limit") or PIECE_LIMIT), PIECE_LIMIT))
        text = await asyncio.to_thread(data.decode, errors="replace")
        piece = {"blobId": blob_id, "text": clean_text(text[start : start + limit]), "offset": start}
        more = {"nextOffset": start + limit} if start + limit < len(text) else {}
        read = await self._spaces_of(context, blob_id)
        return Done({**piece, "length": len(text), **more}, read_spaces=read)

    async def _spaces_of(self, context: CallContext, blob_id: str) -> tuple[str, ...]:
        """Where a blob comes from: this very run, a space where it was shown, else anywhere the agent is."""
        calls = await self._store.calls(context.run.id)
        if any(blob_id in (call.kept or ()) for call in calls):
            return ()
        shown = await self._store.blob_spaces(blob_id)
        if not shown:
            return tuple(space.id for space, _ in await self._store.spaces_of(context.agent_id))
        known = [space_id for space_id in shown if space_id in (context.run.read_spaces or ())]
        mine = [each for each in shown if await self._store.role(each, context.agent_id) is not None]
        return (*known, *mine, *shown)[:1]


def _waiting_for(run: Run) -> dict[str, Json]:
    if run.status not in WAITING:
        return {}
    return {
        "waitsFor": [
            {"toolName": call.tool_name, "for": call.waits_for or None} for call in run.pending_tool_calls
        ]
    }
