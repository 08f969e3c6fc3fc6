"""A real Roomful process on loopback, and the few verbs a test needs to talk to it."""

import contextlib
import copy
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

import httpx

ADMIN_KEY = "test-admin-key"
PATIENCE = float(os.environ.get("PATIENCE", "30"))
PORTS = range(12_000, 32_000)
"""Below those that the system gives to clients."""
BLOCK = 1_000


def _claimed() -> tuple[socket.socket, range]:
    """A thousand ports of this test process alone, as long as it holds the first: a gateway that was killed
    finds its port free when it starts again."""
    for begin in PORTS[::BLOCK]:
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", begin))
        except OSError:
            claim.close()
            continue
        return claim, range(begin + 1, begin + BLOCK)
    raise AssertionError(f"{len(PORTS) // BLOCK} other test processes hold the ports {PORTS}")


_claim, _own_ports = _claimed()
_next_port = itertools.cycle(_own_ports)


def free_port() -> int:
    for port in itertools.islice(_next_port, len(_own_ports)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no port of {_own_ports} is free")


class Process(Protocol):
    """What is asked of one that serves, as of a `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Roomful:
    """`with Roomful(folder) as house:` serves until the block ends; `kill` and `start` are a crash."""

    def __init__(self, folder: Path, *flags: str, database: str | None = None, **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.database = database or f"sqlite:///{folder / 'roomful.db'}"
        self._flags = flags
        self._environment = {
            "ROOMFUL_ADMIN_KEY": ADMIN_KEY,
            "ROOMFUL_LIMIT_POSTS": "0",
            "ROOMFUL_LIMIT_SPACE_POSTS": "0",
            "ROOMFUL_LIMIT_WRONG_TOKENS": "0",
            "ROOMFUL_SECRET_KEY": "a-secret-key-for-tests",
            **environment,
        }
        self._process: Process | None = None
        self.log = folder / "log.txt"
        self.client = httpx.Client(
            timeout=PATIENCE, verify=False, limits=httpx.Limits(max_keepalive_connections=0)
        )
        self.admin = Caller(self, ADMIN_KEY)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("ROOMFUL_")}
        command = ["serve", "--port", str(self.port), "--database", self.database, *self._flags]
        self._process = self._launch(command, clean | self._environment)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise AssertionError(f"roomful ended at once:\n{self.log.read_text()}")
            with contextlib.suppress(httpx.TransportError):
                if self.client.get(f"{self.url}/readyz").status_code == 200 and self._process.poll() is None:
                    return self
            time.sleep(0.02)
        self.kill()
        raise AssertionError(f"roomful did not answer:\n{self.log.read_text()}")

    def _launch(self, command: list[str], environment: dict[str, str]) -> "Process":
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "roomful.cli", *command],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """Like a power cut for the process: nothing of it is asked first."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def pause(self) -> None:
        """The process keeps everything it has and does nothing, until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    # What tests arrange.

    def person(self, entity_id: str, name: str | None = None, kind: str = "human") -> "Caller":
        body = {"id": entity_id, "name": name or entity_id.title(), "kind": kind}
        made = self.admin.post("/api/entities", body, expect=201)
        return Caller(self, made["token"], entity_id)

    def space(self, space_id: str, *members: str, **more: Any) -> str:
        """A space with these members; `id:role` gives another role than member."""
        self.admin.post("/api/spaces", {"id": space_id, "name": space_id.title(), **more}, expect=201)
        for member in members:
            entity_id, _, role = member.partition(":")
            body = {"entityId": entity_id, "role": role or "member"}
            self.admin.post(f"/api/spaces/{space_id}/members", body, expect=201)
        return space_id

    def agent(self, agent_id: str, model: Any, *tools: Any, **more: Any) -> str:
        config = {"id": agent_id, "name": agent_id.title(), "model": model, "tools": list(tools), **more}
        self.admin.post("/api/agents", config, expect=201)
        return agent_id


def openai(base_url: str, name: str = "fake") -> dict[str, str]:
    return {"name": f"openai:{name}", "baseUrl": base_url, "apiKey": "key-of-the-fake"}


@dataclass
class Caller:
    """Somebody with a token."""

    house: Roomful
    token: str
    id: str = ""

    def at(self, house: Roomful) -> "Caller":
        """The same one, at another gateway."""
        return replace(self, house=house)

    def request(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        if body is not None:
            more["content"] = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers.setdefault("content-type", "application/json")
        return self.house.client.request(method, self.house.url + path, headers=headers, **more)

    def call(self, method: str, path: str, body: Any = None, *, expect: int = 200, **more: Any) -> Any:
        answer = self.request(method, path, body, **more)
        assert answer.status_code == expect, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def get(self, path: str, **more: Any) -> Any:
        return self.call("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return self.call("POST", path, body, **more)

    def say(self, space_id: str, text: str, **more: Any) -> Any:
        return self.post(f"/api/spaces/{space_id}/messages", {"text": text, **more}, expect=201)

    def messages(self, space_id: str, **params: Any) -> list[dict[str, Any]]:
        return self.get(f"/api/spaces/{space_id}/messages", params=params)["messages"]

    def listen(self, space_id: str, last: str | None = None, **params: str) -> "Listener":
        return Listener(self, f"/api/spaces/{space_id}/stream", last, params)


@dataclass
class Event:
    id: str | None
    name: str
    data: dict[str, Any]


def lines_of(pieces: Iterator[bytes]) -> Iterator[str]:
    """As this server ends them. httpx would also cut where Unicode has an end of a line."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in whole)


def read_events(lines: Iterator[str]) -> Iterator[Event]:
    """SSE as the specification reads it; a comment is no event."""
    event_id: str | None = None
    name, data = "", list[str]()
    for line in lines:
        if line == "":
            if data:
                yield Event(event_id, name, json.loads("\n".join(data)))
            name, data = "", []
        elif line.startswith(":"):
            continue
        else:
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match key:
                case "id":
                    event_id = value
                case "event":
                    name = value
                case "data":
                    data.append(value)
                case _:
                    raise AssertionError(f"no such field in SSE: {line!r}")


class Listener:
    """Reads a stream in a thread, so that a test can wait for what should come. Entered once it is open."""

    def __init__(
        self,
        caller: Caller,
        path: str,
        last: str | None = None,
        params: Mapping[str, str] | None = None,
        *,
        posts: Mapping[str, Any] | None = None,
    ) -> None:
        """`posts`: what is posted there, to watch what comes of it."""
        self.events: list[Event] = []
        self.ended = False
        self.status = 0
        self._changed = threading.Condition()
        headers = {"authorization": f"Bearer {caller.token}", "accept": "text/event-stream"}
        if last is not None:
            headers["last-event-id"] = last
        self._client = httpx.Client(timeout=httpx.Timeout(PATIENCE), verify=False)
        self._request = self._client.build_request(
            "GET" if posts is None else "POST",
            caller.house.url + path,
            headers=headers,
            params=dict(params or {}),
            json=posts,
        )
        self._response: httpx.Response | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._response = self._client.send(self._request, stream=True)
        self.status = self._response.status_code
        assert self.status == 200, self._response.read()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._response is not None
        with contextlib.suppress(httpx.TransportError, RuntimeError):
            self._shut()
        self._thread.join(PATIENCE)
        self._client.close()

    def _shut(self) -> None:
        """Ends the read in the other thread: closing alone would leave it in recv."""
        assert self._response is not None
        stream = self._response.extensions.get("network_stream")
        sock = stream.get_extra_info("socket") if stream is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._response.close()

    def _read(self) -> None:
        assert self._response is not None
        with contextlib.suppress(httpx.TransportError, httpx.StreamError):
            for event in read_events(lines_of(self._response.iter_bytes())):
                with self._changed:
                    self.events.append(event)
                    self._changed.notify_all()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wait(self, found: Callable[[list[Event]], Any], seconds: float = PATIENCE) -> Any:
        """Waits until `found` of the events so far is true, and gives that."""
        with self._changed:
            if not self._changed.wait_for(lambda: found(self.events), seconds):
                names = [event.name for event in self.events]
                raise AssertionError(f"did not come within {seconds:g} s; what came: {names}")
            return found(self.events)

    def wait_for(self, name: str, count: int = 1, **fields: Any) -> Event:
        """The count-th event of this name whose data has these fields."""

        def found(events: list[Event]) -> Event | None:
            hits = [e for e in events if e.name == name and fields.items() <= e.data.items()]
            return hits[count - 1] if len(hits) >= count else None

        return self.wait(found)

    def wait_end(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.ended, PATIENCE), "the stream did not end"

    def names(self) -> list[str]:
        return [event.name for event in self.events]


@dataclass
class View:
    """A reader's own fold, written for the tests from the words of the protocol, not from the product's."""

    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)

    def apply(self, event: Event) -> "View":
        data = copy.deepcopy(event.data)
        match event.name:
            case "snapshot":
                self.messages = {message["id"]: message for message in data["messages"]}
                self.members = {member["entityId"] for member in data.get("members", ())}
            case "member.joined":
                self.members.add(data["member"]["entityId"])
            case "member.left":
                self.members.discard(data["member"]["entityId"])
            case "smartSpace.message":
                self._message(data["message"])
            case "text-start" | "tool-call.start":
                self._start(event.name, data)
            case "text-delta":
                part = self._part("id", data["partId"])
                assert len(part["text"]) == data["offset"], "a delta was lost or came twice"
                part["text"] += data["delta"]
            case "text-end":
                self._part("id", data["partId"])["status"] = "complete"
            case "tool-input-delta":
                part = self._part("toolCallId", data["toolCallId"])
                if "partialArgs" in data:
                    part["args"] = data["partialArgs"]
                else:
                    for kind, path, value in data["ops"]:
                        key = path[1:].replace("~1", "/").replace("~0", "~")
                        part["args"][key] = value if kind == "set" else part["args"].get(key, "") + value
            case "tool-call" | "tool-call.complete" | "tool-call.error":
                self._call(event.name, data)
            case "subagent.call" | "subagent.text" | "subagent.end":
                self._inside(event.name, data)
            case "part.reset":
                part = self._part("id", data["partId"])
                part["status"] = "streaming"
                part.update({"args": {}} if part["type"] == "tool_call" else {"text": ""})
            case _:
                pass
        return self

    def _inside(self, name: str, data: dict[str, Any]) -> None:
        child = self._part("id", data["partId"])["child"]
        for call_id in data["path"]:
            child = next(call for call in child["calls"] if call["toolCallId"] == call_id)["child"]
        if name == "subagent.call":
            at = [
                n for n, call in enumerate(child["calls"]) if call["toolCallId"] == data["call"]["toolCallId"]
            ]
            if at:
                child["calls"][at[0]] = data["call"]
            else:
                child["calls"].append(data["call"])
        elif name == "subagent.text":
            child["text"] = child["text"][: data["offset"]] + data["delta"]
        else:
            assert "calls" not in data["child"]
            child |= data["child"]

    def state(self) -> list[dict[str, Any]]:
        return sorted(self.messages.values(), key=lambda message: message["seq"])

    def _start(self, name: str, data: dict[str, Any]) -> None:
        message = self.messages.setdefault(
            data["messageId"],
            {
                "id": data["messageId"],
                "spaceId": data["spaceId"],
                "entityId": data["entityId"],
                "seq": data["seq"],
                "status": "open",
                "role": "assistant",
                "parts": [],
                "createdAt": data["createdAt"],
                "updatedAt": data["createdAt"],
                "runId": data["runId"],
                "mentions": [],
                "attachments": [],
            },
        )
        part: dict[str, Any] = {"id": data["partId"], "status": "streaming"}
        if name == "text-start":
            part |= {"type": "text", "text": ""}
            part |= {"toolCallId": data["toolCallId"]} if "toolCallId" in data else {}
            part |= {"type": "reasoning"} if data.get("reasoning") else {}
            part |= {"step": data["step"]} if "step" in data else {}
        else:
            part |= {
                "type": "tool_call",
                "toolCallId": data["toolCallId"],
                "toolName": data["toolName"],
                "runId": data["runId"],
            }
            part |= {"args": {}} if data["showsArgs"] else {}
            part |= {"result": None} if data["showsResult"] else {}
            kept = ("customUI", "targetEntityId", "asks", "agentId", "step")
            part |= {field: data[field] for field in kept if field in data}
        message["parts"].append(part)

    def _call(self, name: str, data: dict[str, Any]) -> None:
        found = [p for m in self.messages.values() for p in m["parts"] if p["id"] == data["partId"]]
        for part in found:
            part["status"] = {"tool-call": "ready", "tool-call.complete": "complete"}.get(name, "error")
            part |= {"args": data["args"]} if "args" in data else {}
            part |= {"result": data["output"]} if "output" in data else {}
            part |= {"error": data["error"]} if "error" in data else {}

    def _message(self, changed: dict[str, Any]) -> None:
        known = self.messages.get(changed["id"], {"parts": []})
        fresh = {part["id"]: part for part in changed["parts"]}
        parts = [fresh.pop(part["id"], part) for part in known["parts"]]
        merged = [] if changed.get("deleted") else [*parts, *fresh.values()]
        self.messages[changed["id"]] = changed | {"parts": merged}

    def _part(self, key: str, value: str) -> dict[str, Any]:
        found = [p for m in self.messages.values() for p in m["parts"] if p.get(key) == value]
        return next(p for p in found if key == "id" or p["type"] == "tool_call")


def fold(events: list[Event]) -> list[dict[str, Any]]:
    view = View()
    for event in events:
        view.apply(event)
    return json.loads(json.dumps(view.state()))
