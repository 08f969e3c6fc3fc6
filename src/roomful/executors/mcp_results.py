"""What an MCP server answered to a call, as an outcome; and a person's answer as the server wants it."""

from typing import Final

from roomful.domain.errors import Invalid
from roomful.domain.outcomes import Done, Failed, Outcome, Waiting
from roomful.domain.shape import UNSET, Json, Unset, clean_json, encode_json
from roomful.executors.masking import Masker
from roomful.tools.reading import as_list, as_object

LARGEST_RESULT: Final = 10 * 1024 * 1024
LARGEST_QUESTION: Final = 64 * 1024
_LONGEST_ERROR: Final = 2000
_ACTIONS: Final = ("accept", "decline", "cancel")


def outcome_of(result: dict[str, Json], masker: Masker) -> Outcome:
    if result.get("resultType") == "input_required":
        return _question(result, masker)
    if result.get("isError"):
        return Failed(masker.text(told(_text(result))) or "the tool failed without saying why")
    value = result.get("structuredContent")
    if value is None:
        value = _text(result)
    if len(encode_json(value)) > LARGEST_RESULT:
        return Failed(f"the result is larger than {LARGEST_RESULT // 1024 // 1024} MiB")
    return Done(masker.json(clean_json(value)))


def told(text: str) -> str:
    """A server's own words where we repeat them: not too many."""
    plain = clean_json(text.strip())
    return plain if len(plain) <= _LONGEST_ERROR else plain[: _LONGEST_ERROR - 1] + "…"


def later_state(result: dict[str, Json]) -> str | None:
    """Set when the server asks nobody anything and only wants to be called again with this."""
    state = result.get("requestState")
    wants = result.get("resultType") == "input_required" and not result.get("inputRequests")
    return state if wants and isinstance(state, str) else None


def continued(continuation: Json | Unset) -> tuple[dict[str, Json] | None, str | None]:
    """`inputResponses` and `requestState` for the call that brings an answer. Raises Invalid."""
    if continuation is UNSET:
        return None, None
    given = as_object(continuation) or {}
    state, answer = as_object(given.get("state")) or {}, as_object(given.get("answer")) or {}
    keys = [str(key) for key in as_list(state.get("keys")) or []]
    responses = {key: as_object(answer.get(key)) or {} for key in keys}
    for key, response in responses.items():
        if response.get("action") not in _ACTIONS:
            raise Invalid(f'the answer to {key!r} has no "action": write accept, decline or cancel')
    request_state = state.get("requestState")
    return responses, request_state if isinstance(request_state, str) else None


def _question(result: dict[str, Json], masker: Masker) -> Outcome:
    """Only forms are put before people: a page that a server wants opened may be anybody's."""
    asked: dict[str, Json] = {}
    for key, value in (as_object(result.get("inputRequests")) or {}).items():
        request = as_object(value) or {}
        params = as_object(request.get("params")) or {}
        if request.get("method") != "elicitation/create" or params.get("mode", "form") != "form":
            return Failed("the tool asks for something that this gateway does not give to servers")
        asked[key] = {"message": params.get("message", ""), "schema": params.get("requestedSchema", {})}
    question = masker.json(clean_json({"requests": asked}))
    state = {"requestState": result.get("requestState"), "keys": list(asked)}
    if len(encode_json([question, state])) > LARGEST_QUESTION:
        return Failed(f"the tool's question is larger than {LARGEST_QUESTION // 1024} KiB")
    return Waiting(on="answer", question=question, state=state)


def _text(result: dict[str, Json]) -> str:
    blocks = [as_object(block) or {} for block in as_list(result.get("content")) or []]
    return "\n".join(_words(block) for block in blocks)


def _words(block: dict[str, Json]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource":
            resource = as_object(block.get("resource")) or {}
            return str(resource.get("text") or f"[resource {resource.get('uri', '')}]")
        case "resource_link":
            return f"[resource {block.get('uri', '')}]"
        case kind:
            return f"[{kind} {block.get('mimeType', '')}]"
