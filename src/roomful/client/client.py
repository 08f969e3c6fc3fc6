"""A gateway, for a person, an agent or a service with a token. Names and nouns are those of the API."""

import secrets
from collections.abc import AsyncGenerator, Iterable
from types import TracebackType
from typing import Self

from roomful.client.asking import Asking
from roomful.client.connection import Connection, Request, as_query, path_of
from roomful.client.following import LiveSpace, OnConnection
from roomful.domain.answers import MessagePage, MessagePosted, SpaceOfMine
from roomful.domain.entities import Entity
from roomful.domain.events import SpaceEvent
from roomful.domain.messages import Message
from roomful.domain.runs import Run, RunStatus
from roomful.domain.shape import Json, Noun
from roomful.domain.spaces import Flow, Member, Role, Space, Wake

PATIENCE = 30.0
SILENCE = 60.0


class _Spaces(Noun):
    spaces: list[SpaceOfMine]


class _Members(Noun):
    members: list[Member]


class _Runs(Noun):
    runs: list[Run]


class Client:
    """`async with Client("http://127.0.0.1:8000", token=…) as client:`

    `patience` is how many seconds a request that did not get through is tried again. `silence` is after how
    many seconds without a byte a stream counts as lost; gateways say something every 15. With the admin key,
    `acts_as` names whom it acts for. What a gateway refuses is raised as the error it tells of.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        acts_as: str | None = None,
        patience: float = PATIENCE,
        silence: float = SILENCE,
    ) -> None:
        self._connection = Connection(url, token, acts_as=acts_as, patience=patience, silence=silence)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    # Who and where.

    async def me(self) -> Entity:
        return await self._connection.ask(Request(method="GET", path=path_of("session")), Entity)

    async def spaces(self) -> list[SpaceOfMine]:
        return (await self._connection.ask(Request(method="GET", path=path_of("spaces")), _Spaces)).spaces

    async def space(self, space_id: str) -> Space:
        return await self._connection.ask(Request(method="GET", path=path_of("spaces", space_id)), Space)

    async def create_space(
        self,
        *,
        name: str,
        id: str | None = None,
        admin_agent_id: str | None = None,
        wake: Wake = "none",
        flow: Flow = "open",
    ) -> Space:
        body = _given(name=name, id=id, adminAgentId=admin_agent_id, wake=wake, flow=flow)
        request = Request(method="POST", path=path_of("spaces"), body=body, key=_new_key())
        return await self._connection.ask(request, Space)

    async def members(self, space_id: str) -> list[Member]:
        request = Request(method="GET", path=path_of("spaces", space_id, "members"))
        return (await self._connection.ask(request, _Members)).members

    async def put_member(self, space_id: str, entity_id: str, role: Role = "member") -> Member:
        """Brings somebody in, or gives them another role."""
        body = {"entityId": entity_id, "role": role}
        path = path_of("spaces", space_id, "members")
        return await self._connection.ask(
            Request(method="POST", path=path, body=body, key=_new_key()), Member
        )

    async def remove_member(self, space_id: str, entity_id: str) -> None:
        """Not sent again by itself: whether it was done, the members tell."""
        path = path_of("spaces", space_id, "members", entity_id)
        await self._connection.ask(Request(method="DELETE", path=path, repeatable=False), None)

    # What is said.

    async def messages(
        self,
        space_id: str,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
        q: str | None = None,
    ) -> MessagePage:
        """`before` and `after` are places (`seq`); `q` are words to look for."""
        query = as_query(before=before, after=after, limit=limit, q=q)
        request = Request(method="GET", path=path_of("spaces", space_id, "messages"), query=query)
        return await self._connection.ask(request, MessagePage)

    async def message(self, space_id: str, message_id: str) -> Message:
        request = Request(method="GET", path=path_of("spaces", space_id, "messages", message_id))
        return await self._connection.ask(request, Message)

    async def post(
        self,
        space_id: str,
        text: str,
        *,
        mentions: Iterable[str] = (),
        reply_to: str | None = None,
        attachments: Iterable[str] = (),
        client_message_id: str | None = None,
    ) -> MessagePosted:
        """Says something, once: under the same `client_message_id`, made here if none is given, a message is
        stored one time, however often it has to be sent."""
        body = _message(text, mentions, reply_to, attachments, client_message_id)
        path = path_of("spaces", space_id, "messages")
        return await self._connection.ask(Request(method="POST", path=path, body=body), MessagePosted)

    def ask(
        self,
        space_id: str,
        text: str,
        *,
        mentions: Iterable[str] = (),
        reply_to: str | None = None,
        attachments: Iterable[str] = (),
        client_message_id: str | None = None,
    ) -> AsyncGenerator[SpaceEvent, None]:
        """Says something and yields what comes of it here, until every run that it woke has ended or waits
        for a person. After a lost connection whole messages are told again, so fold the events, or take
        texts from where they begin (`offset`)."""
        body = _message(text, mentions, reply_to, attachments, client_message_id)
        return Asking(self._connection, space_id, body).events()

    async def change_message(self, space_id: str, message_id: str, text: str) -> Message:
        path = path_of("spaces", space_id, "messages", message_id)
        return await self._connection.ask(Request(method="PATCH", path=path, body={"text": text}), Message)

    async def delete_message(self, space_id: str, message_id: str) -> None:
        path = path_of("spaces", space_id, "messages", message_id)
        await self._connection.ask(Request(method="DELETE", path=path), None)

    async def mark_read(self, space_id: str, message_id: str) -> None:
        body = {"messageId": message_id}
        path = path_of("spaces", space_id, "read")
        await self._connection.ask(Request(method="POST", path=path, body=body), None)

    def follow(self, space_id: str, *, on_connection: OnConnection | None = None) -> LiveSpace:
        """The space, live: `async with client.follow(…) as space: async for event in space: …`.
        `on_connection` is told False when the connection is lost, and True when it is there again."""
        return LiveSpace(self._connection, space_id, on_connection)

    # Runs.

    async def runs(
        self,
        *,
        space_id: str | None = None,
        agent_id: str | None = None,
        status: Iterable[RunStatus] = (),
        limit: int = 50,
    ) -> list[Run]:
        wanted = ",".join(status) or None
        query = as_query(spaceId=space_id, agentId=agent_id, status=wanted, limit=limit)
        return (
            await self._connection.ask(Request(method="GET", path=path_of("runs"), query=query), _Runs)
        ).runs

    async def run(self, run_id: str) -> Run:
        return await self._connection.ask(Request(method="GET", path=path_of("runs", run_id)), Run)

    async def cancel(self, run_id: str) -> Run:
        return await self._connection.ask(Request(method="POST", path=path_of("runs", run_id, "cancel")), Run)

    async def retry(self, run_id: str) -> Run:
        """A failed run's trigger again, as a new run."""
        request = Request(method="POST", path=path_of("runs", run_id, "retry"), key=_new_key())
        return await self._connection.ask(request, Run)

    async def answer(self, run_id: str, call_id: str, result: Json) -> None:
        """Answers a card. Whoever comes second gets a Conflict, whose `outcome` is the first one's."""
        await self._answer(run_id, {"toolCallId": call_id, "result": result})

    async def close_poll(self, run_id: str, call_id: str) -> None:
        await self._answer(run_id, {"toolCallId": call_id, "close": True})

    async def _answer(self, run_id: str, body: Json) -> None:
        path = path_of("runs", run_id, "tool-results")
        await self._connection.ask(Request(method="POST", path=path, body=body, key=_new_key()), None)


def _message(
    text: str,
    mentions: Iterable[str],
    reply_to: str | None,
    attachments: Iterable[str],
    client_message_id: str | None,
) -> dict[str, Json]:
    body = _given(text=text, replyTo=reply_to, clientMessageId=client_message_id or _new_key())
    return body | {"mentions": list(mentions), "attachments": list(attachments)}


def _given(**values: Json) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


def _new_key() -> str:
    return secrets.token_urlsafe(16)
