"""Joins the chunks of one answer into model deltas, as few of them as the reads allow."""

from collections.abc import Sequence

from roomful.domain.deltas import (
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ReasoningPiece,
    TextPiece,
    UsageReport,
)
from roomful.domain.shape import clean_text, encode_json
from roomful.domain.usage import Usage
from roomful.models import faults
from roomful.models.chunks import (
    WIRE_LIMIT,
    CallDelta,
    Chunk,
    FunctionPiece,
    Lines,
    decode_chunk,
    decode_text,
)

CALL_LIMIT = 10 * 1024 * 1024
ANSWER_LIMIT = 16 * 1024 * 1024
CALLS_LIMIT = 10_000
_TEXT = -1
_REASONING = -2
_NOTHING = -3
_NO_FUNCTION = FunctionPiece()
TRIES = 4
"""How often it is looked for what all chunks of a text or a call have in common. With some servers that is
nothing."""
_OTHER = "another text"


class _Call:
    """`index` is our own: the provider's may repeat, or be missing. `begun`: arguments came."""

    __slots__ = ("begun", "held", "id", "index", "name", "opened", "size")

    def __init__(self, index: int, provider_id: str) -> None:
        self.index = index
        self.id = provider_id
        self.name = ""
        self.opened = False
        self.begun = False
        self.held: list[str] = []
        self.size = 0


class _Mould:
    """What is around a text in every chunk that brings nothing else, up to its quotes: chunks that are the
    same but for the text need not be taken apart."""

    __slots__ = ("before", "behind", "call", "first", "last")

    def __init__(self, before: bytes, behind: bytes, call: _Call | None) -> None:
        self.before = before
        self.behind = behind
        self.call = call
        self.first = len(before)
        self.last = -len(behind)


class Answer:
    """Bytes in, deltas out: one list per read, neighbouring pieces of one kind joined.

    `ended` says that nothing more is to be read, and `fault` why, if it was not the proper end. Once the
    provider has given a finish reason the answer is whole, and what breaks afterwards does no harm; the
    reason itself is not looked at, since it is wrong too often.
    """

    def __init__(self, model: str, tool_names: Sequence[str] = (), secret: str = "") -> None:
        self.ended = False
        self.fault: ModelFailed | None = None
        self._model = model
        self._tool_names = tool_names
        self._secret = secret
        self._lines = Lines(model)
        self._finished = False
        self._usage: Usage | None = None
        self._calls: list[_Call] = []
        self._by_key: dict[int | str, _Call] = {}
        self._halves: dict[int, str] = {}
        self._size = 0
        self._kind = _NOTHING
        self._pieces: list[str] = []
        self._out: list[ModelDelta] = []
        self._mould: _Mould | None = None
        self._tries = TRIES

    def more(self, data: bytes) -> CallPiece | TextPiece | None:
        """The piece, if a read is one chunk that brings only more of a text or of an open call, as most are.
        None: `feed` takes it."""
        lines, mould = self._lines, self._mould
        if lines.held or lines.lossy:
            return None
        call, text = None, ""
        if mould is not None and data.startswith(mould.before) and data.endswith(mould.behind):
            try:
                call, text = mould.call, decode_text(b'"%b"' % data[mould.first : mould.last])
            except ValueError:
                text = ""  # What is there is no text; it is read as anything else.
        if not text:
            found = self._only(data)
            if found is None:
                return None
            call, text = found
            if self._tries:
                self._cast(data, call, text)
        size = len(text)
        if self._size + size > ANSWER_LIMIT or lines.size + len(data) > WIRE_LIMIT:
            return None
        if call is not None:
            if call.size + size > CALL_LIMIT:
                return None
            call.size += size
        self._size += size
        lines.size += len(data)
        return TextPiece(text) if call is None else CallPiece(call.index, text)

    def feed(self, data: bytes) -> list[ModelDelta]:
        try:
            for chunk in self._lines.feed(data):
                self._take(chunk)
            self._flush()
            if self._lines.done:
                self._close()
        except ModelFailed as failed:
            self._fail(failed)
        return self._taken()

    def finish(self, fault: ModelFailed | None = None) -> list[ModelDelta]:
        """No more bytes will come; `fault` says why, if the provider did not end them."""
        try:
            for chunk in self._lines.finish():
                self._take(chunk)
            if not (self._finished or self._lines.done):
                raise fault or faults.cut(self._model)
            self._close()
        except ModelFailed as failed:
            self._fail(failed)
        return self._taken()

    def _taken(self) -> list[ModelDelta]:
        out, self._out = self._out, []
        return out

    def _fail(self, failed: ModelFailed) -> None:
        """What came before the fault is told first; garbage behind a whole answer is no fault."""
        try:
            self._flush()
            if self._finished and failed.code == "model_garbage" and not self.ended:
                self._close()
                return
        except ModelFailed as worse:
            failed = worse
        self.ended = True
        self.fault = failed

    def _close(self) -> None:
        self.ended = True
        for call in self._calls:
            if not call.opened:
                if not call.name:
                    raise faults.garbage(self._model, "a tool call has no name")
                self._open(call)
        self._flush()
        halves, self._halves = self._halves, {}
        for kind in halves:
            self._emit(kind, "\ufffd")
        if self._usage is not None:
            self._out.append(UsageReport(self._usage))

    def _only(self, data: bytes) -> "tuple[_Call | None, str] | None":
        """The call and its text, or a text of no call, if there is nothing else in a read."""
        if data[:5] != b"data:" or data.find(b"\n") != len(data) - 2 or data[-1:] != b"\n":
            return None
        try:
            chunk = decode_chunk(data[5:])
        except (ValueError, RecursionError):
            return None
        choice = chunk.choices[0] if chunk.choices else None
        if choice is None or choice.finish_reason or chunk.usage is not None or chunk.error:
            return None
        delta = choice.delta
        if delta is None or delta.reasoning_content or delta.reasoning:
            return None
        if not delta.tool_calls:
            return (None, delta.content) if delta.content else None
        piece = delta.tool_calls[0]
        function = piece.function
        if delta.content or len(delta.tool_calls) > 1 or piece.id or piece.index is None or function is None:
            return None
        call, text = self._by_key.get(piece.index), function.arguments
        if call is None or not call.begun or not call.opened or function.name or not isinstance(text, str):
            return None
        return (call, text) if text else None

    def _cast(self, data: bytes, call: _Call | None, text: str) -> None:
        """Most servers send the same bytes around every text. Whether these are around this one is seen by
        putting another in its place."""
        self._tries -= 1
        self._mould = None
        before, found, behind = data.rpartition(text.encode())
        if found and self._only(before + _OTHER.encode() + behind) == (call, _OTHER):
            self._mould = _Mould(before, behind, call)

    def _take(self, chunk: Chunk) -> None:
        if chunk.choices:
            choice = chunk.choices[0]
            delta = choice.delta
            if delta is not None:
                if thought := delta.reasoning_content or delta.reasoning:
                    self._piece(_REASONING, thought)
                if delta.content:
                    self._piece(_TEXT, delta.content)
                if delta.tool_calls:
                    for position, piece in enumerate(delta.tool_calls):
                        self._take_call(position, piece)
            if choice.finish_reason:
                self._finished = True
        if chunk.usage is not None:
            tokens = chunk.usage
            self._usage = Usage(tokens.prompt_tokens or 0, tokens.completion_tokens or 0)
        if chunk.error:
            raise faults.stream_fault(self._model, chunk.error, self._secret)

    def _take_call(self, position: int, piece: CallDelta) -> None:
        function = piece.function or _NO_FUNCTION
        call = self._call_of(position, piece, function.name)
        if function.name and not call.opened:
            if function.name != call.name:
                self._count(None, function.name)
                call.name += function.name
            if self._is_whole(call.name):
                self._open(call)
        arguments = function.arguments
        if arguments is None or arguments == "":
            return
        if isinstance(arguments, dict):
            arguments = encode_json(arguments).decode()
        call.begun = True
        if call.name and not call.opened:
            self._open(call)
        if call.opened:
            self._piece(call.index, arguments)
        else:
            call.held.append(arguments)
            self._count(call, arguments)

    def _call_of(self, position: int, piece: CallDelta, name: str | None) -> _Call:
        """The call a fragment belongs to: by index, else by id, else by its place in the list."""
        place = -1 - position
        key = piece.index if piece.index is not None else piece.id or place
        call = self._by_key.get(key)
        if call is None or (name and _begins_another(call, piece, name)):
            if len(self._calls) >= CALLS_LIMIT:
                raise faults.too_large(self._model, f"more than {CALLS_LIMIT} tool calls")
            call = _Call(len(self._calls), piece.id or "")
            self._mould, self._tries = None, TRIES
            self._calls.append(call)
            self._by_key[key] = call
            if piece.index is None:
                self._by_key[place] = call
        elif piece.id and not call.id:
            call.id = piece.id
        return call

    def _is_whole(self, name: str) -> bool:
        """Names may come in fragments: one is whole when it is a tool's and begins no other tool's."""
        return name in self._tool_names and not any(
            other != name and other.startswith(name) for other in self._tool_names
        )

    def _open(self, call: _Call) -> None:
        self._flush()
        call.opened = True
        self._out.append(CallOpened(call.index, clean_text(call.name), clean_text(call.id)))
        if call.held:
            self._emit(call.index, "".join(call.held), counted=True)
            call.held.clear()

    def _piece(self, kind: int, text: str) -> None:
        if kind != self._kind:
            self._flush()
            self._kind = kind
        self._pieces.append(text)

    def _flush(self) -> None:
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            self._emit(self._kind, "".join(pieces))

    def _emit(self, kind: int, text: str, *, counted: bool = False) -> None:
        if not counted:
            self._count(self._calls[kind] if kind >= 0 else None, text)
        if self._lines.lossy:
            text = self._mend(kind, text)
        if not text:
            return
        if kind >= 0:
            self._out.append(CallPiece(kind, text))
        elif kind == _TEXT:
            self._out.append(TextPiece(text))
        else:
            self._out.append(ReasoningPiece(text))

    def _mend(self, kind: int, text: str) -> str:
        """Puts together what a server cut into two surrogates, and replaces what is left over."""
        text = self._halves.pop(kind, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[kind] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _count(self, call: _Call | None, text: str) -> None:
        self._size += len(text)
        if self._size > ANSWER_LIMIT:
            raise faults.too_large(self._model, f"more than {ANSWER_LIMIT >> 20} Mi characters")
        if call is not None:
            call.size += len(text)
            if call.size > CALL_LIMIT:
                raise faults.too_large(
                    self._model, f"a tool call's arguments have more than {CALL_LIMIT >> 20} Mi characters"
                )


def _begins_another(call: _Call, piece: CallDelta, name: str) -> bool:
    """Whether a fragment that brings a name belongs to a call of its own. Servers reuse an index; others
    repeat the name, or give every fragment a new id: only a name with a new id, another name, or a name
    that nothing else ties to the call makes a new one."""
    if piece.id and call.id and piece.id != call.id:
        return True
    if not (call.begun and call.name):
        return False
    return name != call.name or (piece.index is None and not piece.id)
