"""From a request to its answer: who asks, may they, what do they want, and what went wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Invalid, NotFound, RoomfulError, Unauthorized
from roomful.domain.shape import check_id, clean_text
from roomful.web.addresses import own_address
from roomful.web.ask import AnyRoute, Ask, Once, digest_of_request, key_of
from roomful.web.auth import (
    NOBODY,
    SAFE_METHODS,
    Credential,
    address_of,
    check_host,
    check_origin,
    extract,
)
from roomful.web.bodies import Gone, decode_body, read_body
from roomful.web.desk import Desk
from roomful.web.problems import Refused, answer_to, unexpected
from roomful.web.queries import read_query


class PathApp:
    """Everything that can be asked of one path."""

    def __init__(self, desk: Desk, routes: Mapping[str, AnyRoute]) -> None:
        self._desk = desk
        self._routes = dict(routes)
        self._path = next(iter(routes.values())).path
        if (get := self._routes.get("GET")) is not None and not get.streams:
            self._routes["HEAD"] = get

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._watched(scope, receive)
        if answer is not None:
            await answer(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive) -> ASGIApp | None:
        """The answer, and how long it took. A stream takes as long as it takes to open."""
        house, method = self._desk.house, scope["method"]
        began = house.watch.steady()
        name = f"{method if method in self._routes else 'other'} {self._path}"
        under = Headers(scope=scope).get("traceparent", "") if method == "POST" else ""
        with house.tracer.span(name, {"http.route": self._path}, under) as span:
            answer = await self._answer(scope, receive)
            status = answer.status_code if isinstance(answer, Response) else 200
            span.note({"http.response.status_code": status})
        house.watch.answered(status, began)
        return answer

    async def _answer(self, scope: Scope, receive: Receive) -> ASGIApp | None:
        headers = Headers(scope=scope)
        route = self._routes.get(scope["method"])
        try:
            check_that_host_is_ours(self._desk, headers)
            if route is None:
                allowed = ", ".join(sorted(self._routes))
                raise Refused(405, f"this path answers to {allowed}", {"allow": allowed})
            return await _handle(self._desk, route, scope, headers, receive)
        except Gone:
            return None
        except Unauthorized as error:
            described = route.described_at if route is not None else ""
            base = own_address(self._desk.house, headers, scope["scheme"])
            return answer_to(error, base + described if described else "")
        except RoomfulError as error:
            return answer_to(error)
        except Exception as error:  # noqa: BLE001 - the outermost seam: one bad request is one bad answer
            reference = self._desk.house.ids.new("err")
            return unexpected(error, reference, f"{scope['method']} {scope['path']}")


class NothingHere:
    """Every other path."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_that_host_is_ours(self._desk, Headers(scope=scope))
            raise NotFound("there is nothing at this path; /openapi.json lists what there is")
        except RoomfulError as error:
            await answer_to(error)(scope, receive, send)


def check_that_host_is_ours(desk: Desk, headers: Headers) -> None:
    if not check_host(headers, desk.house.allowed_hosts):
        raise Refused(421, "this gateway does not go by that name: the operator lists names in ROOMFUL_HOSTS")


async def _handle(desk: Desk, route: AnyRoute, scope: Scope, headers: Headers, receive: Receive) -> ASGIApp:
    query = read_query(scope["query_string"], route.query)
    params: dict[str, str] = scope["path_params"]
    address = address_of(scope)
    principal, credential = await _caller(desk, route, headers, address)
    about = await route.access.find(desk.house, principal, _checked(params, route.texts))
    if route.is_post or route.is_counted:
        desk.count_post(principal)
    body = None
    if route.body is not None:
        body = decode_body(await read_body(headers, receive, route.body_limit), route.body)
    once = _once(route, scope["path"], principal, headers, body)
    if principal.is_acted_for and route.method not in SAFE_METHODS:
        asked = {"method": route.method, "route": route.path, "id": params.get("id", "")}
        await desk.house.store.commit([desk.house.audit(principal, "admin.acted", detail=asked)])
    ask: Ask[Any, Any, Any] = Ask(
        desk=desk,
        principal=principal,
        credential=credential,
        headers=headers,
        receive=receive,
        scheme=scope["scheme"],
        address=address,
        params=params,
        query=query,
        body=body,
        about=about,
        once=once,
    )
    return await (route.handler(ask) if once is None else _handle_once(route, ask, once))


async def _caller(
    desk: Desk, route: AnyRoute, headers: Headers, address: str
) -> tuple[Principal, Credential | None]:
    if route.access.needs_token:
        return await desk.auth.caller(headers, route.method, address)
    if route.method not in SAFE_METHODS:
        check_origin(headers, route.method, extract(headers))
    return NOBODY, None


def _checked(params: Mapping[str, str], texts: Sequence[str]) -> Mapping[str, str]:
    """What cannot be an id names nothing, and never reaches the store; nor does what cannot be a text."""
    for name, value in params.items():
        try:
            if name not in texts:
                check_id(value)
            elif clean_text(value) != value:
                raise Invalid(f"{name} cannot be read")
        except RoomfulError:
            raise NotFound("there is nothing at this path: it holds something that is no id") from None
    return params


def _once(route: AnyRoute, path: str, principal: Principal, headers: Headers, body: Any) -> Once | None:
    key = key_of(headers) if route.keeps_key else None
    if key is None:
        return None
    return Once(principal.entity_id, key, digest_of_request(route.method, path, body))


async def _handle_once(route: AnyRoute, ask: Ask[Any, Any, Any], once: Once) -> ASGIApp:
    if (known := await once.answer(ask.house.store)) is not None:
        return known
    try:
        return await route.handler(ask)
    except Conflict:
        # The same request may have come twice at once; then the other one's answer is the answer.
        if (known := await once.answer(ask.house.store)) is not None:
            return known
        raise
