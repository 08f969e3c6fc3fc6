"""The world outside of the gateways: models that do as they like, and a service that counts its effects."""

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from roomful.domain.agents import ModelRef
from roomful.domain.deltas import (
    AssistantMessage,
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    UsageReport,
)
from roomful.domain.outbound import EgressFailed, OutboundRequest, OutboundResponse
from roomful.domain.ports import Hear
from roomful.domain.usage import Usage
from roomful.models import faults

WORDS = ("yes", "näher", "🙂", "the", "plan", "e\u0301", "```x```", "\n", "ok", "@bob", "{{x}}", "日本")
MOST_STEPS = 4


def words(chance: random.Random, most: int = 12) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


class SeededModels:
    """Speaks in random pieces, calls tools in any space, its own or not, fails and falls silent."""

    def __init__(self, chance: random.Random, spaces: Sequence[str], agents: Sequence[str]) -> None:
        self._chance = chance
        self._spaces = spaces
        self._agents = agents
        self.calm = False
        """Then it does not fail any more."""
        self.requests: list[ModelRequest] = []
        self._keys = 0

    def find(self, ref: ModelRef) -> "SeededModels":
        return self

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        self.requests.append(request)
        steps = sum(isinstance(message, AssistantMessage) for message in request.messages)
        deltas = self._answer(request, steps)
        fault = None if self.calm else self._chance.choices(("", "cut", "gone", "silent"), (20, 2, 1, 1))[0]
        if fault:
            deltas = deltas[: self._chance.randint(0, len(deltas))]
        while deltas:
            await asyncio.sleep(self._chance.random() ** 4 * 2)
            size = self._chance.randint(1, 4)
            batch, deltas = deltas[:size], deltas[size:]
            hear(batch)
        if fault == "silent":
            await asyncio.sleep(request.silence_seconds)
            raise faults.silent(request.ref.name, request.silence_seconds)
        if fault:
            raise ModelFailed("model_cut", "The answer ended in the middle", retry=fault == "cut")
        hear([UsageReport(Usage(10, 3))])

    def _answer(self, request: ModelRequest, steps: int) -> list[ModelDelta]:
        chance = self._chance
        said: list[list[ModelDelta]] = []
        if chance.random() < 0.2:
            said.append([ReasoningPiece(piece) for piece in self._pieces(words(chance))])
        if chance.random() < 0.2:
            said.append([TextPiece(piece) for piece in self._pieces(words(chance))])
        count = chance.choice((0, 1, 1, 2, 3)) if steps < MOST_STEPS else 0
        calls = [self._call(index, request) for index in range(count)]
        return [*itertools.chain(*said), *self._mixed(calls)]

    def _mixed(self, calls: list[list[ModelDelta]]) -> list[ModelDelta]:
        """Pieces of several calls come in any order, those of one in its own."""
        if self._chance.random() < 0.5:
            return list(itertools.chain(*calls))
        mixed: list[ModelDelta] = []
        while calls := [call for call in calls if call]:
            mixed.append(self._chance.choice(calls).pop(0))
        return mixed

    def _call(self, index: int, request: ModelRequest) -> list[ModelDelta]:
        chance = self._chance
        name, args = self._wanted(request)
        text = json.dumps(args, ensure_ascii=chance.random() < 0.5)
        if chance.random() < 0.05:
            text = text[: chance.randint(0, len(text))]
        return [CallOpened(index, name), *(CallPiece(index, piece) for piece in self._pieces(text))]

    def _wanted(self, request: ModelRequest) -> tuple[str, dict[str, Any]]:
        chance = self._chance
        space = chance.choice(self._spaces)
        known = [tool.name for tool in request.tools]
        name = chance.choice([*known, "sendSpaceMessage", "sendSpaceMessage", "pay", "form", "nothing"])
        self._keys += 1
        match name:
            case "sendSpaceMessage" | "send_message" | "send_reply":
                args: dict[str, Any] = {"spaceId": space, "text": words(chance, 20)}
                if chance.random() < 0.3:
                    args["mention"] = chance.choice(self._agents)
                    args["wait"] = chance.random() < 0.3
                return name, args
            case "readSpaceMessages" | "enter_space" | "read_messages":
                return name, {"spaceId": space}
            case "delegateToAgent":
                return name, {"targetAgentEntityId": chance.choice(self._agents)}
            case "set_memories":
                return name, {"memories": [{"key": chance.choice("abc"), "value": words(chance)}]}
            case _:
                return name, {"targetSpaceId": space, "key": f"k{self._keys}", "q": words(chance)}

    def _pieces(self, text: str) -> list[str]:
        pieces: list[str] = []
        while text:
            size = self._chance.randint(1, 9)
            pieces.append(text[:size])
            text = text[size:]
        return pieces


class SeededEgress:
    """The port `Egress`: every request that arrives has an effect, whatever its answer is."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.effects: Counter[str] = Counter()
        self.calm = False

    async def send(self, request: OutboundRequest) -> OutboundResponse:
        chance = self._chance
        await asyncio.sleep(chance.random() ** 3)
        fault = (
            ""
            if self.calm
            else chance.choices(("", "unreached", "lost", "error", "html"), (8, 1, 1, 1, 1))[0]
        )
        if fault == "unreached":
            raise EgressFailed("nobody is there")
        self.effects[request.headers["Idempotency-Key"]] += 1
        if fault == "lost":
            await asyncio.sleep(request.timeout or 30.0)
            raise EgressFailed("no complete answer")
        await asyncio.sleep(chance.random() ** 3)
        if fault == "html":
            return OutboundResponse(200, {"content-type": "text/html"}, b"<html>\xff</html>")
        body = json.dumps({"ok": words(chance, 3)}).encode()
        return OutboundResponse(500 if fault else 200, {"content-type": "application/json"}, body)

    def stream(self, request: OutboundRequest) -> NoReturn:
        raise AssertionError("no tool here reads a stream")
