"""A waiting card as questions that can be asked one after the other, and the answers as its result."""

from typing import Literal, NamedTuple, TypeAlias, cast

import msgspec

from roomful.client.terminal.harmless import one_line
from roomful.domain.messages import ApprovalCard, ToolCallPart
from roomful.domain.shape import UNSET, Json

Kind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "json", "anything"]
_YES = frozenset({"y", "yes", "true", "1"})
_NO = frozenset({"n", "no", "false", "0"})
_KINDS: dict[str, Kind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "json",
    "object": "json",
}


class Question(NamedTuple):
    """`path` is where the answer goes in the result; it is asked only if `only_if` holds there by then."""

    path: tuple[str, ...]
    label: str
    kind: Kind = "text"
    options: tuple[Json, ...] = ()
    required: bool = True
    default: Json = None
    only_if: tuple[tuple[str, ...], Json] | None = None

    @property
    def prompt(self) -> str:
        label = one_line(self.label)
        match self.kind:
            case "boolean":
                return f"{label} (y/n)"
            case "choice":
                listed = " ".join(f"{n}) {one_line(_words(o))}" for n, o in enumerate(self.options, 1))
                return f"{label} {listed}"
            case "text" | "anything":
                return label
            case kind:
                return f"{label} ({kind})"

    def read(self, said: str) -> Json:
        """Raises ValueError with a sentence when it does not fit."""
        match self.kind:
            case "boolean":
                if said.lower() in _YES | _NO:
                    return said.lower() in _YES
                raise ValueError("say y or n")
            case "choice":
                return self._chosen(said)
            case "integer":
                return _number(said, int, "a whole number")
            case "number":
                return _number(said, float, "a number")
            case "json":
                return _json(said)
            case "anything":
                return _anything(said)
            case "text":
                return said

    def _chosen(self, said: str) -> Json:
        if said.isdecimal() and 1 <= int(said) <= len(self.options):
            return self.options[int(said) - 1]
        named = [option for option in self.options if _words(option).lower() == said.lower()]
        if named:
            return named[0]
        raise ValueError(f"choose 1 to {len(self.options)}")


class Form:
    def __init__(self, part: ToolCallPart) -> None:
        self._left = questions_of(part)
        self._result: Json = {}

    @property
    def question(self) -> Question | None:
        """The one to ask now; None when everything is answered."""
        while self._left and not self._holds(self._left[0].only_if):
            self._left.pop(0)
        return self._left[0] if self._left else None

    def answer(self, said: str) -> str | None:
        """What is wrong with it, or None and the form is one question further."""
        question = self.question
        assert question is not None
        said = said.strip()
        if not said:
            if question.required and question.default is None:
                return "this needs an answer"
            if question.default is not None:
                self._put(question.path, question.default)
        else:
            try:
                self._put(question.path, question.read(said))
            except ValueError as problem:
                return str(problem)
        self._left.pop(0)
        return None

    @property
    def result(self) -> Json:
        return self._result

    def _holds(self, condition: tuple[tuple[str, ...], Json] | None) -> bool:
        if condition is None:
            return True
        path, wanted = condition
        found = self._result
        for step in path:
            found = cast("dict[str, Json]", found).get(step) if isinstance(found, dict) else None
        return found == wanted

    def _put(self, path: tuple[str, ...], value: Json) -> None:
        if not path:
            self._result = value
            return
        target = self._result
        for step in path[:-1]:
            target = target.setdefault(step, {})
        target[path[-1]] = value


def questions_of(part: ToolCallPart) -> list[Question]:
    """Consent, what a tool asked in the middle of its work, the fields or the options that the arguments
    name; else one answer in any words."""
    if part.approval is not UNSET:
        return [
            Question(("approved",), _consent(part.tool_name, part.approval), "boolean"),
            Question(("reason",), "Why not?", required=False, only_if=(("approved",), False)),
        ]
    if part.question is not UNSET:
        return _requests(_object(part.question))
    args = _object(part.args)
    label = str(args.get("title") or args.get("question") or args.get("q") or part.tool_name)
    for name in ("schema", "fields", "inputs"):
        if fields := _fields(args.get(name), ()):
            return fields
    for name in ("options", "choices"):
        if isinstance(args.get(name), list) and args[name]:
            return [Question(("choice",), label, "choice", _options(args[name]))]
    return [Question((), f"Answer to {label}", "anything")]


def _consent(tool_name: str, approval: ApprovalCard) -> str:
    if not approval.to_space_ids:
        return f"Approve {tool_name}?"
    where, whence = ", ".join(approval.to_space_ids), ", ".join(approval.from_space_ids or ())
    return f"Approve {tool_name} in {where}, where not everybody may read {whence}?"


def _requests(question: dict[str, Json]) -> list[Question]:
    asked: list[Question] = []
    for key, request in _object(question.get("requests")).items():
        given = _object(request)
        options = ("accept", "decline")
        asked.append(Question((key, "action"), str(given.get("message") or key), "choice", options))
        accepted = ((key, "action"), "accept")
        fields = _fields(given.get("schema"), (key, "content"))
        asked += [field._replace(only_if=accepted) for field in fields]
    return asked


def _fields(fields: Json, path: tuple[str, ...]) -> list[Question]:
    """Of a JSON schema, of a list of fields, or of an object of them."""
    if isinstance(fields, list):
        found = [_object(field) for field in cast("list[Json]", fields)]
        named = {
            str(field.get("name") or field.get("id") or field.get("label") or ""): field for field in found
        }
        required = [name for name, field in named.items() if field.get("required", True)]
    else:
        schema = _object(fields)
        named = {name: _object(field) for name, field in _object(schema.get("properties", schema)).items()}
        listed = schema.get("required")
        required = cast("list[Json]", listed) if isinstance(listed, list) else []
    return [
        _field((*path, name), name, field, is_required=name in required)
        for name, field in named.items()
        if name and field
    ]


def _field(path: tuple[str, ...], name: str, field: dict[str, Json], *, is_required: bool) -> Question:
    label = str(field.get("label") or field.get("title") or field.get("description") or name)
    options = _options(field.get("enum") or field.get("options") or field.get("choices") or [])
    kind = "choice" if options else _KINDS.get(str(field.get("type")), "text")
    return Question(path, label, kind, options, is_required, field.get("default"))


def _options(options: Json) -> tuple[Json, ...]:
    return tuple(cast("list[Json]", options)) if isinstance(options, list) else ()


def _object(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _words(option: Json) -> str:
    fields = _object(option)
    named = fields.get("label") or fields.get("name") or fields.get("id")
    if named is not None:
        return str(named)
    return option if isinstance(option, str) else msgspec.json.encode(option).decode()


def _number(said: str, kind: type[int] | type[float], what: str) -> Json:
    try:
        return int(said) if kind is int or said.lstrip("+-").isdecimal() else float(said)
    except ValueError:
        raise ValueError(f"this must be {what}") from None


def _json(said: str) -> Json:
    try:
        return msgspec.json.decode(said)
    except msgspec.DecodeError:
        raise ValueError("write it as JSON") from None


def _anything(said: str) -> Json:
    """As on the page: JSON as it is, other words as a text."""
    try:
        return msgspec.json.decode(said)
    except msgspec.DecodeError:
        return {"text": said}
