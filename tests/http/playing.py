"""A story of the demo, played from its own data: every space is watched, so that nothing is said unseen.

with Play(house, "approval") as play:
    play.answer(play.asked("finance", "showApprovalForm"), "grace", result={"approved": True})
    play.ended()
    assert play.seen() == {"hq": [...], "finance": [...]}
"""

import contextlib
from typing import Any, Self

import httpx

from tests.http.storming import position
from tests.servers.roomful import Caller, Event, Listener, Roomful, fold

ENDS = ("run.completed", "run.canceled", "run.failed")


class Demo:
    """The people of a running demo, its stories, and who reads which space."""

    def __init__(self, house: Roomful) -> None:
        self.house = house
        told = httpx.get(f"{house.url}/api/demo").json()
        self.people = {one["id"]: Caller(house, one["token"], one["id"]) for one in told}
        stories = httpx.get(f"{house.url}/api/demo/stories").json()["stories"]
        self.stories: dict[str, dict[str, Any]] = {story["id"]: story for story in stories}
        self.readers: dict[str, Caller] = {}
        for person in self.people.values():
            for mine in person.get("/api/spaces")["spaces"]:
                self.readers.setdefault(mine["id"], person)


class Play:
    def __init__(self, demo: Demo, story_id: str) -> None:
        self.demo = demo
        self.story = demo.stories[story_id]
        self.run_id = ""
        self._listeners: dict[str, Listener] = {}
        self._before: dict[str, int] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        for space_id, reader in self.demo.readers.items():
            self._before[space_id] = len(reader.messages(space_id))
            self._listeners[space_id] = self._stack.enter_context(reader.listen(space_id))
        teller = self.demo.people[self.story["as"]]
        [run] = teller.say(self.story["spaceId"], self.story["text"])["runs"]
        self.run_id = run["runId"]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def in_space(self, space_id: str) -> Listener:
        return self._listeners[space_id]

    def asked(self, space_id: str, tool: str) -> dict[str, Any]:
        """The newest call of this tool that the run waits for there."""

        def found(events: list[Event]) -> dict[str, Any] | None:
            waiting = [e.data for e in events if e.name == "run.waiting_tool"]
            mine = waiting[-1]["pendingToolCalls"] if waiting and waiting[-1]["runId"] == self.run_id else []
            return next((one for one in mine if one["toolName"] == tool), None)

        return self.in_space(space_id).wait(found)

    def answer(self, call: dict[str, Any], who: str, *, expect: int = 200, **body: Any) -> None:
        """`result` for an answer, `close` for the end of a poll."""
        path = f"/api/runs/{self.run_id}/tool-results"
        self.demo.people[who].post(path, {"toolCallId": call["toolCallId"], **body}, expect=expect)

    def ended(self, space_id: str | None = None, run_id: str | None = None) -> Event:
        here = self.in_space(space_id or self.story["spaceId"])
        wanted = run_id or self.run_id

        def found(events: list[Event]) -> Event | None:
            return next((e for e in events if e.name in ENDS and e.data["runId"] == wanted), None)

        return here.wait(found)

    def messages(self, space_id: str) -> list[dict[str, Any]]:
        """What is new there, live and after a reload the same."""
        page = self.demo.readers[space_id].get(f"/api/spaces/{space_id}/messages")
        last, listener = position(page["position"]), self.in_space(space_id)
        listener.wait(lambda events: any(position(event.id) >= last for event in events))
        assert fold([event for event in listener.events if position(event.id) <= last]) == page["messages"]
        return page["messages"][self._before[space_id] :]

    def seen(self) -> dict[str, list[tuple[str, ...]]]:
        """Everything that is new anywhere: by space, each message as its author and its parts."""
        new = {space_id: self.messages(space_id) for space_id in self._listeners}
        return {
            space_id: [(one["entityId"], *map(in_words, one["parts"])) for one in messages]
            for space_id, messages in new.items()
            if messages
        }


def in_words(part: dict[str, Any]) -> str:
    match part["type"]:
        case "text":
            return part["text"]
        case "reasoning":
            return "(thinks)"
        case _:
            return f"[{part.get('customUI') or part['toolName']}: {part['status']}]"
