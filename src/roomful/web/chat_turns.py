"""What a client of the AI SDK sends: a new message, answers to cards, or that it wants an answer anew."""

import base64
import binascii
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Literal, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from roomful.domain.blobs import file_name_in, media_type_in
from roomful.domain.changes import Change
from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Invalid, NotFound
from roomful.domain.messages import Message
from roomful.domain.runs import Call, Run
from roomful.domain.shape import Json, check_id
from roomful.domain.spaces import Space
from roomful.recall.ui_nouns import Sdk
from roomful.runs.intake import Posted, checked_text, client_key
from roomful.web.ask import digest_of_request
from roomful.web.faces.ui_stream import UiStream, known_slots
from roomful.web.feeds.following import viewer_of
from roomful.web.feeds.one_run import Followed
from roomful.web.house import House

_GIVEN = frozenset({"output-available", "output-error", "approval-responded", "output-denied"})
_BLOBS = "/api/blobs/"


class SentMessage(msgspec.Struct, rename="camel"):
    """A UI message. Whatever else it has is the client's own."""

    role: Literal["user", "assistant", "system"]
    id: Annotated[str, msgspec.Meta(max_length=128)] = ""
    parts: list[dict[str, Json]] = []


class ChatRequest(msgspec.Struct, rename="camel"):
    """As the SDK's transport sends it; what an app adds to it is not looked at."""

    id: str
    messages: list[SentMessage] = []
    message: SentMessage | None = None
    """The last one alone, by those who do not send them all."""
    trigger: Literal["submit-message", "regenerate-message", "resume-stream"] = "submit-message"
    message_id: str | None = None
    agent_id: str | None = None

    def last(self) -> SentMessage:
        """An earlier one is meant where the client names one of the agent's."""
        if self.trigger == "submit-message":
            for message in self.messages:
                if message.id == self.message_id and message.role == "assistant":
                    return message
        if self.message is None and not self.messages:
            raise Invalid("messages: send the message, or all messages with it at their end")
        return self.message or self.messages[-1]


class File(NamedTuple):
    """A file that came with the message, or the id of one that was uploaded before."""

    blob_id: str
    data: bytes = b""
    media_type: str = ""
    name: str = ""


class Words(NamedTuple):
    text: str
    files: list[File]


def words_of(sent: SentMessage) -> Words:
    """What a person said. Raises Invalid."""
    texts = [_string(part, "text") for part in sent.parts if part.get("type") == "text"]
    files = [_file(part) for part in sent.parts if part.get("type") == "file"]
    return Words(checked_text("\n".join(texts), files), files)


Turn = tuple[UiStream, Callable[[], Awaitable[Followed]]]
"""How to tell it, and what it leads to."""


class Turns:
    def __init__(
        self, house: House, principal: Principal, space: Space, agent_id: str | None, sdk: Sdk
    ) -> None:
        self._house = house
        self._me = principal
        self._space = space
        self._agent_id = agent_id
        self._sdk: Sdk = sdk

    async def begin(self, request: ChatRequest, words: Words | None) -> Turn:
        """`words` are what the last message says, if it is a person's."""
        last = request.last()
        if words is None:
            return await self._go_on(last)
        face = UiStream(self._sdk, viewer_of(self._me))
        if request.trigger == "regenerate-message":
            return face, lambda: self._again(last, words)
        return face, lambda: self._post(last, words)

    async def _post(self, sent: SentMessage, words: Words) -> Followed:
        key = client_key(self._space.id, sent.id) if sent.id else None
        is_known = key is not None and await self._house.store.known_answer(self._me.entity_id, key)
        posted = await self._house.intake.post(
            self._me,
            self._space.id,
            text=words.text,
            mentions=await self._named(),
            client_message_id=sent.id or None,
            attachments=[] if is_known else await self._keep(words.files),
            key=key,
            digest=digest_of_request("POST", self._space.id, [words.text, sent.parts]) if key else b"",
        )
        return Followed(self._chosen(posted))

    async def _keep(self, files: Sequence[File]) -> list[str]:
        ids: list[str] = []
        changes: list[Change] = []
        for file in files:
            if file.blob_id:
                ids.append(file.blob_id)
                continue
            blob, kept = self._house.blobs.new(self._me.entity_id, file.data, file.media_type, name=file.name)
            ids.append(blob.id)
            changes += kept
        if changes:
            await self._house.store.commit(changes)
        return ids

    def _chosen(self, posted: Posted) -> Run | None:
        mine = [run for run in posted.runs if self._agent_id in (None, run.agent_id)]
        return mine[0] if mine else None

    async def _named(self) -> list[str]:
        """The agent is named where others could be meant."""
        if self._agent_id is None:
            return []
        members = await self._house.store.members(self._space.id)
        agents = [member for member in members if member.kind == "agent"]
        return [self._agent_id] if len(agents) > 1 else []

    async def _again(self, sent: SentMessage, words: Words) -> Followed:
        """What was asked before is asked once more; what was answered stays."""
        message = await self._known(sent.id)
        if message is None:
            return await self._post(sent, words)
        return Followed(await self._house.intake.ask_again(self._me, message, self._agent_id))

    async def _known(self, message_id: str) -> Message | None:
        """A message of mine by the id that my client gave it, or any by its own."""
        space_id = self._space.id
        mine = await self._house.intake.message_by_key(self._me, space_id, client_key(space_id, message_id))
        return mine or await self._house.store.message(space_id, message_id)

    # Answers.

    async def _go_on(self, sent: SentMessage) -> Turn:
        calls = await self._calls(sent)
        first = await self._house.store.message(self._space.id, sent.id)
        run_id = (first.run_id if first is not None else None) or next(
            (call.run_id for call, _ in calls), None
        )
        if not run_id:
            raise Invalid("messages: the last message is the agent's and is not of this space: send your own")
        run = await self._house.store.run(run_id)
        if run is None:
            raise NotFound(f"there is no run {run_id!r} any more")
        waiting = [(call, part) for call, part in calls if call.status == "waiting"]
        if run.ended and not waiting:
            raise Conflict("this answer is complete and nothing in it waits: send a new message")
        page = await self._house.history.page(self._space.id, viewer_of(self._me), of_run=run)
        said = [msgspec.json.decode(raw, type=Message) for raw in page.messages]
        known = known_slots(sent.parts, said, self._sdk) if said else []

        async def answer() -> Followed:
            for call, part in waiting:
                with contextlib.suppress(Conflict):  # Somebody was faster: the stream tells what they said.
                    await self._house.answers.answer(self._me, call.run_id, call.id, _result(call, part))
            return Followed(run, frozenset(call.id for call, _ in calls))

        return UiStream(self._sdk, viewer_of(self._me), known), answer

    async def _calls(self, sent: SentMessage) -> list[tuple[Call, dict[str, Json]]]:
        """The calls here that the client gives an outcome for."""
        given: list[tuple[Call, dict[str, Json]]] = []
        for part in sent.parts:
            call_id = part.get("toolCallId")
            if part.get("state") not in _GIVEN or not isinstance(call_id, str):
                continue
            call = await self._house.store.call(call_id)
            if call is not None and any(place.space_id == self._space.id for place in call.places):
                given.append((call, part))
        return given


class _Approval(msgspec.Struct):
    approved: bool
    reason: str | None = None


def _result(call: Call, part: dict[str, Json]) -> Json:
    if call.waits_for != "approval":
        failure = part.get("errorText") or "failed"
        return {"error": str(failure)} if part.get("state") == "output-error" else part.get("output")
    try:
        decided = msgspec.convert(part.get("approval"), _Approval)
    except msgspec.ValidationError as error:
        raise Invalid(f"messages: `approval` of {call.id!r}: {error}") from None
    if decided.approved or not decided.reason:
        return {"approved": decided.approved}
    return {"approved": False, "reason": decided.reason}


def _string(part: dict[str, Json], name: str) -> str:
    value: Json = part.get(name, "")
    if not isinstance(value, str):
        raise Invalid(f"messages: {name}: say it as a string")
    return value


def _file(part: dict[str, Json]) -> File:
    url = _string(part, "url")
    if url.startswith(_BLOBS):
        return File(check_id(url.removeprefix(_BLOBS), "messages: url:"))
    media_type = media_type_in(_string(part, "mediaType") or "application/octet-stream")
    if media_type is None:
        raise Invalid("messages: mediaType: this is none, as image/png is one")
    return File("", _inline(url), media_type, file_name_in(_string(part, "filename")))


def _inline(url: str) -> bytes:
    head, comma, body = url.partition(",")
    if not comma or not head.lower().startswith("data:"):
        raise Invalid(
            "messages: a file has to come as a data: URL, or be uploaded with POST /api/blobs first"
        )
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise Invalid("messages: the data: URL of a file is not base64") from None
