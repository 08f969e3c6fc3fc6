"""A request to an endpoint of the author's, with the input filled into the author's templates."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from roomful.domain.errors import RoomfulError
from roomful.domain.outbound import Egress, OutboundRequest
from roomful.domain.outcomes import Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.domain.tools import Http, ToolSpec
from roomful.executors.masking import Masker
from roomful.executors.replies import outcome_of
from roomful.tools.reading import as_object
from roomful.tools.templates import Env, as_text, expand, expand_headers
from roomful.tools.urls import expand_query, expand_url

DEFAULT_TIMEOUT: Final = 30.0
_SENDS_INPUT: Final = frozenset({"POST", "PUT", "PATCH"})
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FORM: Final = "application/x-www-form-urlencoded"


class HttpExecutor:
    has_effects = True

    def __init__(self, egress: Egress, env: Env) -> None:
        self._egress = egress
        self._env = env

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def execute(self, context: CallContext) -> Outcome:
        masker = Masker(self._env)
        try:
            return outcome_of(await self._egress.send(_request(context, masker.read)), masker)
        except RoomfulError as error:
            return Failed(masker.text(error.detail))


def _request(context: CallContext, env: Env) -> OutboundRequest:
    spec = context.spec.executor
    assert isinstance(spec, Http)
    method = spec.method.upper()
    given = expand_headers(spec.headers, context.args, env)
    content_type, body = _body(spec, context.args, env, declared(given, "content-type"))
    headers = {"Accept": "application/json, text/*;q=0.9, */*;q=0.1"}
    if body is not None:
        headers["Content-Type"] = content_type
    if method not in _READS:
        headers["Idempotency-Key"] = context.call.id
    return OutboundRequest(
        method,
        _url(spec, context.args, env),
        overridden(headers, given),
        body,
        timeout=context.spec.timeout or DEFAULT_TIMEOUT,
    )


def _url(spec: Http, args: Mapping[str, Json], env: Env) -> str:
    url = expand_url(spec.url, args, env)
    query = expand_query(spec.query, args, env)
    if query:
        url += ("&" if "?" in url else "?") + query
    return encoded(url)


def _body(spec: Http, args: Mapping[str, Json], env: Env, declared_type: str) -> tuple[str, bytes | None]:
    """How it is written follows from its type and from the author's own Content-Type, if there is one."""
    if spec.body is UNSET and spec.method.upper() in _SENDS_INPUT:
        value: Json = dict(args)
    elif spec.body is UNSET or spec.body is None:
        return "", None
    else:
        value = expand(spec.body, args, env)
    fields = as_object(value)
    if declared_type.lower().startswith(_FORM) and fields is not None:
        pairs = {name: as_text(item, name) for name, item in fields.items() if item is not None}
        return _FORM, urlencode(pairs).encode("ascii")
    if isinstance(value, str) and "json" not in declared_type.lower():
        return "text/plain; charset=utf-8", value.encode("utf-8", "replace")
    return "application/json", encode_json(value)


def encoded(url: str) -> str:
    """The author's path and query in the characters that a URL may have; the host is left for the judge."""
    start = min((url.find(mark, 8) for mark in "/?" if mark in url[8:]), default=len(url))
    return url[:start] + quote(url[start:], safe="!#$%&'()*+,/:;=?@[]~")


def declared(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")


def overridden(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Both, names compared without case, the second ones winning."""
    names = {name.lower() for name in theirs}
    return {**{name: value for name, value in ours.items() if name.lower() not in names}, **theirs}
