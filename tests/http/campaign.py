"""One run in three spaces: words in the office, a payment seen in design, a form in finance, words again.

    with FakeOpenAI(director) as model, World() as world:
        play = Campaign(cluster, model, world)
        play.begin(cluster.one)             # Husam asks for it there
        play.approve(cluster.two)           # Fay says yes there, as soon as she is asked
        play.ended()

The director looks at what an agent has done so far, never at how often it was asked: a step that is asked
for again is answered again, and a call that was never made is made then.
"""

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

from tests.http.test_waiting import FORM
from tests.servers.cluster import Asked as Sent
from tests.servers.cluster import Cluster, Ledger, Reader, alike, eventually
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, Piece, call, pause
from tests.servers.roomful import PATIENCE, Roomful, openai
from tests.servers.world import World

UNSETTLED = {"streaming", "ready", "running"}
PACE = 0.004
"""Seconds between two pieces of what the model says: a story takes about a second."""

MOST_SAID = 40
"""A snapshot holds the newest fifty."""

_numbers = itertools.count(1)


def begins(number: str) -> str:
    return f"Campaign {number}: I pay for the banner and ask finance for the rest."


def ends(number: str) -> str:
    return f"Campaign {number}: all is done, the banner is paid and finance has answered."


def director(asked: Asked) -> Answer:
    number = asked.messages[0]["content"].split("You are campaigner-")[1].partition(".")[0]
    made = [
        (one["function"]["name"], one["function"]["arguments"])
        for message in asked.messages
        for one in message.get("tool_calls") or ()
    ]
    names = [name for name, _ in made]
    if "pay" not in names:
        words = [] if any(begins(number) in args for _, args in made) else said(number, begins(number), 0)
        args = {"targetSpaceId": f"design-{number}", "key": f"key-{number}"}
        return paced(words, call("pay", args, size=5, index=1, id="p1"))
    if "form" not in names:
        args = {"targetSpaceId": f"finance-{number}", "q": f"Is campaign {number} fine with you?"}
        return paced(call("form", args, size=4, id="f0"))
    if not any(ends(number) in args for _, args in made):
        return paced(said(number, ends(number), 0))
    return Answer([])


def said(number: str, words: str, index: int) -> list[bytes]:
    args = {"spaceId": f"office-{number}", "text": words}
    return call("sendSpaceMessage", args, size=5, index=index, id=f"s{index}")


def paced(*calls: Sequence[bytes]) -> Answer:
    pieces: list[Piece] = []
    for piece in itertools.chain(*calls):
        pieces += [pause(PACE), piece]
    return Answer(pieces)


class Campaign:
    """`people` are in it, each in one space, and each reads there."""

    def __init__(self, cluster: Cluster, model: FakeOpenAI, world: World) -> None:
        self.number = str(next(_numbers))
        self.cluster = cluster
        self.world = world
        self.ledger = Ledger(cluster.gateways)
        self.agent = cluster.agent(
            f"campaigner-{self.number}",
            openai(model.base_url),
            world.tool("pay"),
            FORM,
            instructions=f"You are campaigner-{self.number}.",
        )
        self.husam, self.dora, self.fay = (
            cluster.person(f"{name}-{self.number}") for name in ("husam", "dora", "fay")
        )
        self.office = cluster.space(f"office-{self.number}", self.husam.id, self.agent)
        self.design = cluster.space(f"design-{self.number}", self.dora.id, self.agent)
        self.finance = cluster.space(f"finance-{self.number}", self.fay.id, self.agent)
        self.lobby = cluster.space(f"lobby-{self.number}", self.husam.id)
        self.people = {
            self.office: self.husam,
            self.design: self.dora,
            self.finance: self.fay,
            self.lobby: self.husam,
        }
        self.run_id = ""
        self._wish: Sent | None = None
        self.answered = 0
        """How many answers were accepted."""

    @contextlib.contextmanager
    def reading(self) -> Any:
        """Each reads at every gateway in turn; the first gateway of one is the last of the next."""
        gateways = self.cluster.gateways
        with contextlib.ExitStack() as stack:
            yield [
                stack.enter_context(Reader(who, space_id, gateways[at:] + gateways[:at]))
                for at in range(len(gateways))
                for space_id, who in self.people.items()
            ]

    @contextlib.contextmanager
    def chatting(self) -> Iterator[None]:
        """Meanwhile Husam talks in the lobby, at both gateways in turn, to whoever listens."""
        enough = threading.Event()

        def chat() -> None:
            for number, gateway in zip(range(MOST_SAID), itertools.cycle(self.cluster.gateways)):
                self.ledger.say(self.husam.at(gateway), self.lobby, f"word {number}")
                if enough.wait(0.05):
                    return

        thread = threading.Thread(target=chat)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join(PATIENCE)

    def begin(self, gateway: Roomful) -> None:
        """Not acknowledged perhaps, when somebody kills the gateway at this moment."""
        self._wish = self.ledger.say(self.husam.at(gateway), self.office, "Please make a campaign")

    def insist(self) -> str:
        """The run's id, which is known once the wish is acknowledged."""
        assert self._wish is not None
        [begun] = self.ledger.again(self._wish)["runs"]
        self.run_id = begun["runId"]
        return self.run_id

    def run(self) -> dict[str, Any]:
        """As any gateway tells it."""

        def told() -> dict[str, Any] | None:
            for gateway in [one for one in self.cluster.gateways if one.is_running]:
                with contextlib.suppress(httpx.TransportError):
                    answer = gateway.admin.request("GET", f"/api/runs/{self.run_id}")
                    if answer.status_code == 200:
                        return answer.json()
            return None

        return eventually(told, "a gateway knows the run")

    def approve(self, gateway: Roomful, seconds: float = PATIENCE) -> None:
        """Fay answers when she is asked, at this gateway if it runs, and asks again if nobody tells her
        what became of it."""

        def is_answered() -> bool:
            run = self.run()
            if run["status"] != "waiting_tool":
                return "endedAt" in run or self.answered > 0
            [pending] = run["pendingToolCalls"]
            at = gateway if gateway.is_running else self.cluster.other(gateway)
            body = {"toolCallId": pending["toolCallId"], "result": {"approved": True}}
            with contextlib.suppress(httpx.TransportError):
                answer = self.fay.at(at).request("POST", f"/api/runs/{self.run_id}/tool-results", body)
                self.answered += answer.status_code == 200
                return answer.status_code in (200, 409)
            return False

        eventually(is_answered, "the form is answered", seconds)

    def ended(self, seconds: float = PATIENCE) -> dict[str, Any]:
        def run() -> dict[str, Any] | None:
            return told if "endedAt" in (told := self.run()) else None

        return eventually(run, "the run ends", seconds)

    def check(self, readers: Sequence[Reader]) -> None:
        """All of it is told once, in every space, at every gateway and to every reader."""
        pages = {
            space_id: alike(who, space_id, self.cluster.gateways, *readers)
            for space_id, who in self.people.items()
        }
        for messages in pages.values():
            assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
            assert not {part["status"] for message in messages for part in message["parts"]} & UNSETTLED
            assert {message["status"] for message in messages} <= {"final"}
        self.ledger.check()
        run = self.run()
        assert run["status"] == "completed", run
        assert _texts(pages[self.office]).count(ends(self.number)) == 1
        assert _texts(pages[self.office]).count(begins(self.number)) == 1
        [form] = _calls(pages[self.finance], "form")
        assert (form["status"], form["result"]) == ("complete", {"approved": True})
        assert self.answered <= 1
        self._check_effects(_calls(pages[self.design], "pay"))

    def _check_effects(self, paid: list[dict[str, Any]]) -> None:
        effects = self.world.effects[f"key-{self.number}"]
        [part] = paid
        if part["status"] == "complete":
            assert effects == 1, f"it was done {effects} times"
        else:
            assert part["status"] == "unknown", part
            assert effects <= 1, f"it was done {effects} times and nobody knows"


def _texts(messages: list[dict[str, Any]]) -> list[str]:
    """What was said to its end."""
    return [
        part["text"]
        for message in messages
        for part in message["parts"]
        if part["type"] == "text" and part["status"] != "canceled"
    ]


def _calls(messages: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [
        part
        for message in messages
        for part in message["parts"]
        if part["type"] == "tool_call" and part["toolName"] == name and part["status"] != "canceled"
    ]
