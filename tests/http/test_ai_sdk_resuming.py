"""The AI SDK's chat when it comes late, goes away, stops, fails or asks again."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.clients.node import Node
from tests.http.chatting import Chatting, newest, shapes
from tests.http.test_ai_sdk import CONFIRM, FULL_SEARCH
from tests.http.test_delegation import Script, both, delegate, same
from tests.servers.cluster import eventually
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, status, text
from tests.servers.roomful import Caller, Roomful, openai


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("chats")) as house:
        yield house


@pytest.fixture(scope="module")
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@pytest.fixture(scope="module")
def bob(house: Roomful) -> Caller:
    return house.person("bob")


@pytest.fixture(params=(5, 6, 7), ids=lambda version: f"ai{version}")
def chat(house: Roomful, ada: Caller, request: pytest.FixtureRequest) -> Chatting:
    return Chatting(house, ada, request.param)


class Crowd:
    """Clients that come in one after the other, each with its own way to have begun."""

    def __init__(self, chat: Chatting) -> None:
        self.chat = chat
        self.clients: list[Node] = []
        self.waiting: list[Any] = []
        self._stack = ExitStack()

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def come(self, first: Node) -> None:
        """One with what a reload shows, the next with nothing, and so on, while nothing moves."""
        self.agree(first)
        loaded = [] if len(self.clients) % 2 else self.chat.history()
        client = self._stack.enter_context(self.chat.client(messages=loaded))
        self.clients.append(client)
        self.waiting.append(client.begin("resume"))
        client.wait_for("messages")
        self.agree(first)

    def agree(self, first: Node) -> dict[str, Any]:
        """All have the same, and it is what a reload shows at this moment."""

        def found() -> dict[str, Any] | None:
            state = first.call("state")
            states = [state, *(client.call("state") for client in self.clients)]
            latest = [self.chat.loaded(one["messages"][-1:]) for one in states]
            try:
                same(latest, [self.chat.history()[-1:]] * len(latest))
            except AssertionError:
                return None
            return state

        return eventually(found, "that all agree")

    def end(self, state: dict[str, Any]) -> None:
        for resuming in self.waiting:
            ended = resuming.result(30)
            assert ended["status"] == "ready", ended["error"]
            same(ended["messages"][-1], state["messages"][-1])


def test_a_second_client_comes_in_at_every_cut(chat: Chatting, model: FakeOpenAI) -> None:
    pieces = [*text("I look. ", 4), *call("search", {"query": "red shoes"}, size=8)]
    first = [step for piece in pieces for step in (piece, hold())]
    model.answer(Answer(first), Answer([*text("Found "), hold(), *text("them.")]))
    chat.casts(model, FULL_SEARCH)
    with chat.sending() as (client, sending), Crowd(chat) as crowd:
        client.wait_for("messages", lambda seen: newest(seen).get("text"))
        for _ in [*pieces, None]:
            crowd.come(client)
            model.release()
        state = sending.result(30)
        crowd.end(state)

    assert len(crowd.clients) == len(pieces) + 1
    _, reply = chat.agrees(state)
    assert shapes(reply) == [
        "step-start",
        "text done",
        "tool-search output-available",
        "step-start",
        "text done",
    ]


def test_a_second_client_comes_in_while_sub_agents_work(chat: Chatting) -> None:
    def asks(name: str, index: int = 0) -> list[bytes]:
        return call(f"ask_{name}", {"prompt": "go"}, index=index, id=f"call_{index}")

    script = Script(
        boss=[both(asks("scout"), asks("clerk", 1)), Answer(text("ok"))],
        scout=[
            Answer([*text("Hm. "), hold("scout"), *call("ask_mole", {"prompt": "dig"})]),
            Answer(text("Yes.")),
        ],
        clerk=[
            Answer([*text("Wait. "), hold("clerk"), *call("ask_mole", {"prompt": "dig"})]),
            Answer(text("No.")),
        ],
        mole=[Answer([hold("mole"), *text("dug")]), Answer([hold("mole"), *text("dug")])],
    )
    with FakeOpenAI(script) as model:
        tools = [delegate(name, delegate("mole")) for name in ("scout", "clerk")]
        chat.casts(model, *tools, name="boss")
        with chat.sending() as (client, sending), Crowd(chat) as crowd:
            for name, times, requests in (("scout", 1, 3), ("clerk", 1, 4), ("mole", 2, 5)):
                model.wait_for_requests(requests)
                crowd.come(client)
                model.release(name, times)
            state = sending.result(30)
            crowd.end(state)

    _, reply = chat.agrees(state)
    kinds = [part["type"] for part in reply["parts"]]
    assert kinds[1:7] == [
        "tool-agent-ask_scout",
        "data-tool-agent",
        "tool-agent-ask_clerk",
        "data-tool-agent",
        "data-tool-agent",
        "data-tool-agent",
    ]


def test_an_idle_chat_has_nothing_to_resume(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(text("Hello.")))
    chat.casts(model)
    with chat.sending() as (client, sending):
        before = sending.result(30)
        after = client.call("resume")
    assert (after["status"], after["messages"]) == ("ready", before["messages"])
    path = f"/api/chat/{chat.chat}/stream"
    assert chat.ada.request("GET", path).status_code == 204
    assert chat.ada.request("DELETE", path).status_code == 404


def test_a_card_that_waits_is_told_again_to_a_client_that_comes_back(
    chat: Chatting, model: FakeOpenAI
) -> None:
    model.answer(Answer(call("confirm", {"question": "Sure?"})), Answer(text("Good.")))
    chat.casts(model, CONFIRM)
    with chat.sending() as (_, sending):
        sending.result(30)
    outputs = {"confirm": "yes"}
    with chat.client(messages=chat.history(), automatic="tools", outputs=outputs) as client:
        client.call("resume")
        state = eventually(lambda: _done(client.call("state")), "the answer")
    _, reply = chat.agrees(state)
    assert shapes(reply) == ["step-start", "tool-confirm output-available", "step-start", "text done"]


def _done(state: dict[str, Any]) -> dict[str, Any] | None:
    parts = state["messages"][-1]["parts"]
    return state if state["status"] == "ready" and parts[-1]["type"] == "text" else None


def test_stopping_keeps_what_was_said(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer([*text("One, two, "), hold(), *text("three.")]))
    chat.casts(model)
    with chat.sending() as (client, sending):
        client.wait_for("messages", lambda seen: newest(seen).get("text") == "One, two, ")
        [asked] = model.wait_for_requests(1)
        chat.ada.call("DELETE", f"/api/chat/{chat.chat}/stream", expect=204)
        assert asked.gone.wait(10)
        state = sending.result(30)
        model.release()

    assert state["status"] == "ready"
    _, reply = chat.agrees(state)
    assert reply["parts"][-1] == {"type": "text", "text": "One, two, ", "state": "done"}
    assert [run["status"] for run in chat.runs()] == ["canceled"]


def test_hanging_up_is_not_stopping(chat: Chatting, model: FakeOpenAI) -> None:
    """Neither the client's own stop nor the end of its process ends the run."""
    model.answer(Answer([*text("One, "), hold("1"), *text("two, "), hold("2"), *text("three.")]))
    chat.casts(model)
    with chat.sending() as (client, sending):
        client.wait_for("messages", lambda seen: newest(seen).get("text") == "One, ")
        client.call("stop")
        assert sending.result(30)["status"] == "ready"
        model.release("1")
        resuming = client.begin("resume")
        client.wait_for("messages", lambda seen: newest(seen).get("text") == "One, two, ")
        client.kill()
        assert not resuming.done() or resuming.exception()
    with chat.ada.listen(chat.chat) as listener:
        model.release("2")
        listener.wait_for("run.completed")
    assert chat.history()[-1]["parts"][-1]["text"] == "One, two, three."


def test_a_run_that_fails_is_an_error(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(call("search", {"query": "x"})), status(400, "a detail of the provider"))
    chat.casts(model, FULL_SEARCH)
    with chat.sending() as (client, sending):
        state = sending.result(30)
    assert state["status"] == "error"
    assert state["error"] == "The agent could not finish."
    assert "a detail" not in str(client.notes)
    _, reply = chat.agrees(state)
    assert shapes(reply) == ["step-start", "tool-search output-available"]


def test_a_failed_answer_is_asked_for_again(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(status(400), Answer(text("Now.")))
    chat.casts(model)
    with chat.sending() as (client, sending):
        assert sending.result(30)["status"] == "error"
        state = client.call("regenerate")
    question, reply = chat.agrees(state)
    assert (question["parts"][0]["text"], reply["parts"][-1]["text"]) == ("go", "Now.")


def test_the_same_message_twice_is_one_message(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(text("Once.")))
    chat.casts(model)
    message = {"id": "mine-1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    sent = {"id": chat.chat, "messages": [message], "agentId": chat.agent}
    bodies = [chat.ada.request("POST", "/api/chat", sent).text for _ in range(2)]
    assert len(chat.history()) == 2
    assert all('"Once' in body and body.endswith("data: [DONE]\n\n") for body in bodies)
    message["parts"][0]["text"] = "something else"
    assert chat.ada.request("POST", "/api/chat", sent).status_code == 409


def test_a_name_that_cannot_be_an_id_is_mapped_to_one(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(text("Hello.")))
    chat.casts(model)
    name = f"Ärger / №{chat.number} 🎈?x=1#y"
    with chat.client(chat=name) as client:
        state = client.call("send", text="hi")
        assert client.call("resume")["status"] == "ready"
    params = {"threadId": name, "sdk": chat.version}
    [_, reply] = chat.ada.get("/api/chat", params=params)
    same(state["messages"][-1], reply)
    [space] = [one for one in chat.ada.get("/api/spaces")["spaces"] if one.get("alias") == name]
    assert reply["metadata"]["spaceId"] == space["id"]


def test_others_do_not_get_into_a_chat(chat: Chatting, bob: Caller, model: FakeOpenAI) -> None:
    model.answer(Answer(text("A secret.")))
    chat.casts(model)
    with chat.sending() as (_, sending):
        sending.result(30)
    message = {"id": "theirs", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    sent = {"id": chat.chat, "messages": [message], "agentId": chat.agent}
    path = f"/api/chat/{chat.chat}/stream"
    answers = [
        bob.request("POST", "/api/chat", sent),
        bob.request("GET", path),
        bob.request("DELETE", path),
        bob.request("GET", "/api/chat", params={"threadId": chat.chat}),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
    mine = {"id": "own", "name": "Own", "model": openai(model.base_url)}
    private = f"private-{chat.number}"
    chat.ada.post("/api/agents", mine | {"id": private}, expect=201)
    sent |= {"id": f"new-{chat.number}", "agentId": private}
    assert bob.request("POST", "/api/chat", sent).status_code == 422


def test_files_come_as_attachments(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(text("Nice.")))
    chat.casts(model)
    file = {
        "type": "file",
        "mediaType": "text/plain",
        "filename": "a.txt",
        "url": "data:text/plain;base64,aGk=",
    }
    with chat.client() as client:
        client.call("send", text="look", files=[file])
    [question, _] = chat.ada.messages(chat.chat)
    [blob] = question["attachments"]
    assert chat.ada.request("GET", f"/api/blobs/{blob}").content == b"hi"
    assert "a.txt" in str(model.requests[0].messages)


def test_what_a_run_says_after_a_mention_is_in_the_same_message(
    chat: Chatting, bob: Caller, model: FakeOpenAI
) -> None:
    """A mention closes a message of the space; the client has one message for the run."""
    words = {"spaceId": chat.chat, "text": "@bob look.", "mention": "bob"}
    model.answer(Answer(text("Hello.")), Answer(call("sendSpaceMessage", words)), Answer(text("Said.")))
    chat.casts(model)
    with chat.client() as client:
        client.call("send", text="hi")
        chat.ada.post(f"/api/spaces/{chat.chat}/members", {"entityId": bob.id}, expect=201)
        state = client.call("send", text="tell bob")
    assert len(chat.ada.messages(chat.chat)) == 5
    [_, _, _, reply] = chat.agrees(state)
    assert [part["text"] for part in reply["parts"] if part["type"] == "text"] == ["@bob look.", "Said."]


BAD_FILE = {"type": "file", "url": "data:;base64,AAAA", "mediaType": "a/b\r\nx: y"}
HI = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "id"),
        ({"id": "x", "messages": [HI], "agentId": None}, "agentId"),
        ({"id": "x", "messages": [HI], "agentId": "nobody"}, "no agent 'nobody'"),
        ({"id": "x", "messages": []}, "messages"),
        ({"id": "x", "messages": [{"role": "robot"}]}, "robot"),
        ({"id": "x", "messages": [{"role": "system", "parts": []}]}, "user's"),
        ({"id": "x", "messages": [{"role": "user", "parts": []}]}, "say something"),
        (
            {"id": "x", "messages": [{"role": "user", "parts": [{"type": "file", "url": "http://x"}]}]},
            "data: URL",
        ),
        ({"id": "x", "messages": [{"role": "user", "parts": [{"type": "text", "text": {}}]}]}, "as a string"),
        ({"id": "x", "messages": [{"role": "user", "parts": [BAD_FILE]}]}, "mediaType"),
        ({"id": "", "messages": [HI]}, "characters"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(
    house: Roomful, ada: Caller, model: FakeOpenAI, body: dict[str, Any], says: str
) -> None:
    chat = Chatting(house, ada, 6)
    chat.casts(model)
    if body.get("id") == "x":
        body = {"agentId": chat.agent} | body | {"id": chat.chat}
    answer = ada.request("POST", "/api/chat", body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert ada.request("GET", f"/api/spaces/{chat.chat}").status_code == 404


def test_only_words_begin_a_chat(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    chat = Chatting(house, ada, 6)
    chat.casts(model)
    for parts in (
        [],
        [{"type": "tool-confirm", "toolCallId": "call_x", "state": "output-available", "output": 1}],
    ):
        message = {"role": "assistant", "id": "msg_x", "parts": parts}
        sent = {"id": chat.chat, "agentId": chat.agent, "messages": [message]}
        assert ada.request("POST", "/api/chat", sent).status_code == 404
    file = {"type": "file", "url": "/api/blobs/blob_of_nobody"}
    message = {"role": "user", "parts": [{"type": "text", "text": "look"}, file]}
    sent = {"id": chat.chat, "agentId": chat.agent, "messages": [message]}
    assert ada.request("POST", "/api/chat", sent).status_code == 404
    assert ada.request("GET", f"/api/spaces/{chat.chat}").status_code == 404


def test_no_two_messages_have_one_id(house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI) -> None:
    chat = Chatting(house, ada, 6)
    model.answer(Answer(text("One.")), Answer(text("Two.")), Answer(text("Three.")))
    chat.casts(model)
    with chat.sending() as (_, sending):
        sending.result(30)
    [theirs, *_] = chat.ada.messages(chat.chat)
    chat.ada.post(f"/api/spaces/{chat.chat}/members", {"entityId": bob.id}, expect=201)
    message = {"id": theirs["id"], "role": "user", "parts": [{"type": "text", "text": "mine"}]}
    sent = {"id": chat.chat, "messages": [message], "agentId": chat.agent}
    assert bob.request("POST", "/api/chat", sent).status_code == 200
    ids = [one["id"] for one in chat.history(bob)]
    assert len(ids) == len(set(ids)) == 4
    bob.request("POST", "/api/chat", sent | {"trigger": "regenerate-message"})
    assert model.requests[2].messages[-1]["content"].endswith("mine")


def test_the_model_is_let_go_at_once(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    """The answer to a cancel comes when the model's request has ended."""
    chat = Chatting(house, ada, 6)
    model.answer(Answer([*text("One, "), hold(), *text("two.")]))
    chat.casts(model)
    with chat.sending() as (client, sending):
        client.wait_for("messages", lambda seen: newest(seen).get("text") == "One, ")
        [run] = chat.runs("running")
        began = time.monotonic()
        ada.post(f"/api/runs/{run['id']}/cancel")
        [asked] = model.requests
        assert asked.gone.wait(10)
        print("model request ended after", asked.gone_at - began)
        sending.result(30)


def test_a_run_whose_words_lie_far_apart_is_resumed_whole(
    house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI
) -> None:
    chat = Chatting(house, ada, 6)
    asks = {"spaceId": chat.chat, "text": "@bob when?", "mention": "bob", "wait": True}
    model.answer(Answer(text("Hello.")), Answer(call("sendSpaceMessage", asks)))
    model.answer(Answer([*text("So "), hold(), *text("be it.")]))
    chat.casts(model)
    with chat.client() as client, chat.client() as second:
        client.call("send", text="hi")
        eve = house.person("eve", kind="agent")
        for who in (bob.id, eve.id):
            house.admin.post(f"/api/spaces/{chat.chat}/members", {"entityId": who}, expect=201)
        sending = client.begin("send", text=f"@{chat.agent} ask bob")
        eventually(lambda: chat.runs("waiting_reply"), "that it waits")
        for number in range(210):
            eve.say(chat.chat, f"note {number}")
        bob.say(chat.chat, "tomorrow")
        client.wait_for("messages", lambda seen: newest(seen).get("text") == "So ")
        resuming = second.begin("resume")
        second.wait_for("messages", lambda seen: newest(seen).get("text") == "So ")
        model.release()
        same(resuming.result(30)["messages"][-1], sending.result(30)["messages"][-1])


def test_a_form_beside_a_sub_agent_is_answered_when_that_has_ended(chat: Chatting) -> None:
    """What goes on inside is seen meanwhile: the run needs both."""
    asks = [
        *call("confirm", {"question": "Sure?"}),
        *call("ask_scout", {"prompt": "go"}, index=1, id="call_1"),
    ]
    script = Script(
        boss=[Answer(asks), Answer(text("Good."))], scout=[Answer([*text("Hm. "), hold(), *text("Yes.")])]
    )
    with FakeOpenAI(script) as model:
        chat.casts(model, CONFIRM, delegate("scout"), name="boss")
        outputs = {"confirm": "yes"}
        with chat.sending(automatic="tools", outputs=outputs) as (client, sending):
            client.wait_for("messages", lambda seen: newest(seen).get("data", {}).get("text") == "Hm. ")
            client.wait_for("toolCall")
            assert not sending.done()
            eventually(lambda: chat.runs("waiting_tool"), "that it waits")
            model.release()
            state = eventually(lambda: _done(client.call("state")), "the end")
            assert state["requests"] == 2
    _, reply = chat.agrees(state)
    assert reply["parts"][-1]["text"] == "Good."
