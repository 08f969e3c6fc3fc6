"""Files: kept and given back to whoever may have them, attached to messages, made by tools."""

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Roomful, openai

MEBIBYTE = 1024 * 1024
LIMIT = 25 * MEBIBYTE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + _chunk(b"IEND", b"")
)
DRAW = {
    "name": "generateImage",
    "description": "Draw a picture.",
    "executionType": "image-generator",
    "visibility": "full",
    "execution": {"provider": "builtin", "size": "256x128", "quality": "hd", "model": "any"},
    "inputSchema": {
        "type": "object",
        "properties": {"prompt": {"type": "string"}},
        "required": ["prompt"],
    },
}


def inventory(output: Any, visibility: str = "full") -> dict[str, Any]:
    return {
        "name": "listInventory",
        "description": "List everything.",
        "executionType": "basic",
        "visibility": visibility,
        "execution": {"mode": "static", "output": output},
        "inputSchema": {"type": "object", "properties": {}},
    }


def upload(who: Caller, data: bytes, kind: str = "image/png", name: str = "", **headers: str) -> Any:
    params = {"name": name} if name else {}
    return who.post("/api/blobs", data, expect=201, headers={"content-type": kind, **headers}, params=params)


def fetch(who: Caller, blob_id: str) -> httpx.Response:
    return who.request("GET", f"/api/blobs/{blob_id}")


def asked_by_the_last_run(model: FakeOpenAI, count: int) -> list[dict[str, Any]]:
    return model.wait_for_requests(count)[-1].messages


def test_what_is_kept_comes_back_byte_for_byte(house: Roomful) -> None:
    ada = house.person("ada")
    for data in (PNG, bytes(range(256)) * 4096, b"\0" * LIMIT):
        made = upload(ada, data)
        blob_id = made["blobId"]
        assert made == {
            "blobId": blob_id,
            "url": f"/api/blobs/{blob_id}",
            "mediaType": "image/png",
            "size": len(data),
        }
        answer = fetch(ada, blob_id)
        assert answer.status_code == 200
        assert answer.content == data
        assert ada.request("HEAD", made["url"]).headers["content-length"] == str(len(data))


def test_only_the_owner_the_admin_and_members_of_its_spaces_may_have_a_blob(house: Roomful) -> None:
    ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
    house.space("room", "ada:owner", "bob:reader")
    house.space("other", "eve", "bob")
    blob_id = upload(ada, PNG)["blobId"]

    def who_has_it() -> list[str]:
        people = {"ada": ada, "bob": bob, "eve": eve, "admin": house.admin}
        return [name for name, who in people.items() if fetch(who, blob_id).status_code == 200]

    assert who_has_it() == ["ada", "admin"]
    said = ada.say("room", "look", attachments=[blob_id])["message"]
    assert said["attachments"] == [blob_id]
    assert bob.messages("room") == [said]
    assert who_has_it() == ["ada", "bob", "admin"]
    forbidden, unknown = fetch(eve, blob_id), fetch(eve, "blob_nothing")
    assert forbidden.status_code == unknown.status_code == 404
    assert forbidden.content == unknown.content
    assert {**forbidden.headers, "date": ""} == {**unknown.headers, "date": ""}
    assert httpx.get(f"{house.url}/api/blobs/{blob_id}").status_code == 401
    ada.call("DELETE", "/api/spaces/room/members/bob", expect=204)
    assert who_has_it() == ["ada", "admin"]
    house.admin.call("DELETE", "/api/spaces/room", expect=204)
    assert who_has_it() == ["ada", "admin"]


def test_a_member_may_pass_a_file_on_and_an_outsider_may_not(house: Roomful) -> None:
    ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
    house.space("room", "ada", "bob")
    house.space("other", "bob", "eve")
    blob_id = upload(ada, PNG)["blobId"]
    for who, attachments in [(bob, [blob_id]), (eve, ["blob_nothing"]), (eve, [blob_id]), (eve, ["../x"])]:
        refused = who.request("POST", "/api/spaces/other/messages", {"text": "x", "attachments": attachments})
        assert refused.status_code == 422
        assert attachments[0] in refused.json()["detail"]
    many = ada.request("POST", "/api/spaces/room/messages", {"text": "x", "attachments": [blob_id] * 17})
    assert (many.status_code, "16" in many.json()["detail"]) == (422, True)
    assert eve.messages("other") == []
    ada.say("room", "look", attachments=[blob_id, blob_id])
    bob.say("other", "", attachments=[blob_id])
    assert eve.messages("other")[0]["attachments"] == [blob_id]
    assert fetch(eve, blob_id).content == PNG
    wordless = ada.request("POST", "/api/spaces/room/messages", {"text": ""})
    assert wordless.status_code == 422


def test_the_admin_key_owns_nothing(house: Roomful) -> None:
    house.person("ada")
    sent = {"headers": {"content-type": "image/png"}}
    assert house.admin.request("POST", "/api/blobs", PNG, **sent).status_code == 403
    sent["headers"]["x-roomful-as"] = "ada"
    assert house.admin.request("POST", "/api/blobs", PNG, **sent).status_code == 201


HOSTILE = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(document.domain)</script></svg>"


SERVED = {
    "image/png": ("image/png", "inline"),
    "IMAGE/JPEG; q=1": ("image/jpeg", "inline"),
    "image/svg+xml": ("application/octet-stream", "attachment"),
    "text/html; charset=utf-8": ("application/octet-stream", "attachment"),
    "application/xhtml+xml": ("application/octet-stream", "attachment"),
    "text/javascript": ("application/octet-stream", "attachment"),
    "text/css": ("application/octet-stream", "attachment"),
    "application/pdf": ("application/pdf", "attachment"),
    "text/plain": ("text/plain", "attachment"),
    "video/mp4": ("video/mp4", "attachment"),
}


def test_nothing_in_a_file_is_ever_run(house: Roomful) -> None:
    ada = house.person("ada")
    for kind, (served_as, disposition) in SERVED.items():
        blob_id = upload(ada, HOSTILE, kind, name='../a\r\nX: "<b>"; ü\u202e.svg')["blobId"]
        answer = fetch(ada, blob_id)
        assert answer.content == HOSTILE
        headers = {name: value for name, value in answer.headers.items() if name != "date"}
        assert headers == {
            "content-type": served_as,
            "content-disposition": f"{disposition}; filename*=UTF-8''aX%3A%20%22%3Cb%3E%22%3B%20%C3%BC.svg",
            "content-length": str(len(HOSTILE)),
            "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "private, max-age=31536000, immutable",
            "vary": "authorization, cookie",
        }, kind


def test_a_file_has_a_limit_however_it_is_sent(house: Roomful) -> None:
    ada = house.person("ada")
    headers = {"authorization": f"Bearer {ada.token}", "content-type": "application/zip"}

    def pieces() -> Iterator[bytes]:
        for _ in range(26):
            yield b"\0" * MEBIBYTE

    for content in (b"\0" * (LIMIT + 1), pieces()):
        answer = httpx.post(f"{house.url}/api/blobs", content=content, headers=headers, timeout=30)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert ada.request("POST", "/api/blobs", b"").status_code == 400


def test_a_type_that_is_none_is_refused(house: Roomful) -> None:
    ada = house.person("ada")
    for kind in ("png", "a/b/c", "image/", "text/ü", "multipart/form-data; boundary=x"):
        refused = ada.request("POST", "/api/blobs", PNG, headers={"content-type": kind.encode()})
        assert refused.status_code == 415, kind


def test_an_upload_with_a_key_is_kept_once(house: Roomful) -> None:
    ada = house.person("ada")
    key = {"idempotency-key": "k1"}
    first = upload(ada, PNG, **key)
    again = ada.request("POST", "/api/blobs", PNG, headers={"content-type": "image/png", **key})
    other = ada.request("POST", "/api/blobs", PNG + b"x", headers={"content-type": "image/png", **key})
    assert (again.status_code, again.json()) == (201, first)
    assert again.headers["idempotent-replay"] == "true"
    assert other.status_code == 409


def test_what_a_person_attaches_reaches_the_model(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("agent", openai(model.base_url), dialect="composite")
    house.space("room", "ada", "agent")
    files = [
        upload(ada, PNG),
        upload(ada, "Grüße".encode(), "text/markdown", name="hello.md"),
        upload(ada, b"PK\3\4", "application/zip", name="all.zip"),
        upload(ada, b"no picture", "image/png"),
        upload(ada, b"x" * (64 * 1024 + 1), "text/plain"),
    ]
    ids = [file["blobId"] for file in files]
    model.answer(Answer(text("Seen.")))
    with ada.listen("room") as listener:
        ada.say("room", "what is this?", attachments=ids)
        listener.wait_for("run.completed")
    assert asked_by_the_last_run(model, 1)[-1] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is this?"},
            {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64," + base64.b64encode(PNG).decode()},
            },
            {"type": "text", "text": f'[attachment {ids[1]}: "hello.md", text/markdown, 7 bytes]\nGrüße'},
            {"type": "text", "text": f'[attachment {ids[2]}: "all.zip", application/zip, 4 bytes]'},
            {"type": "text", "text": f"[attachment {ids[3]}: without a name, image/png, 10 bytes]"},
            {"type": "text", "text": f"[attachment {ids[4]}: without a name, text/plain, 65537 bytes]"},
        ],
    }


@requirement("T-07")
def test_an_image_tool_shows_a_real_picture_and_never_its_bytes(house: Roomful, model: FakeOpenAI) -> None:
    ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
    house.agent("artist", openai(model.base_url), DRAW, dialect="composite")
    house.space("room", "ada", "artist", "eve")
    house.space("design", "bob", "artist")
    args = {"targetSpaceId": "design", "prompt": "a sunset over mountains"}
    model.answer(Answer(call("generateImage", args)), Answer(text("ok")))
    with bob.listen("design") as listener:
        ada.say("room", "draw")
        listener.wait_for("run.completed")
        said = json.dumps([event.data for event in listener.events])
    [bubble] = bob.messages("design")
    [part] = bubble["parts"]
    [image] = part["result"]["images"]
    assert part["status"] == "complete"
    assert part["result"]["success"] is True
    assert image == {"url": image["url"], "mediaType": "image/png", "width": 256, "height": 128}
    picture = bob.request("GET", image["url"])
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["content-disposition"] == "inline"
    assert picture.content[:8] == PNG[:8]
    assert struct.unpack(">II", picture.content[16:24]) == (256, 128)
    assert base64.b64encode(picture.content).decode()[:40] not in said
    assert len(json.dumps(bubble)) < 2000
    assert json.loads(asked_by_the_last_run(model, 2)[-1]["content"]) == part["result"]
    assert eve.request("GET", image["url"]).status_code == 404


def test_an_image_provider_without_its_key_is_told_to_the_model(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    tool = {**DRAW, "execution": {"provider": "google", "model": "x", "size": "1024x1024", "quality": "hd"}}
    house.agent("artist", openai(model.base_url), tool, dialect="composite")
    house.space("room", "ada", "artist")
    model.answer(Answer(call("generateImage", {"prompt": "sky"})), Answer(text("ok")))
    with ada.listen("room") as listener:
        ada.say("room", "draw")
        listener.wait_for("run.completed")
    told = asked_by_the_last_run(model, 2)[-1]["content"]
    assert told.startswith("Error: ")
    assert "GOOGLE_API_KEY" in told


def test_a_large_result_is_shown_by_its_beginning_and_read_piece_by_piece(house: Roomful) -> None:
    output = {"items": [f"Nº {number}" for number in range(12_000)]}
    whole = json.dumps(output, ensure_ascii=False, separators=(",", ":"))
    ada, eve = house.person("ada"), house.person("eve")

    def answer(asked: Any) -> Answer:
        if len(asked.messages) == 2:
            return Answer(call("listInventory", {}))
        told = json.loads(asked.messages[-1]["content"])
        if "truncated" in told:
            return Answer(call("readResult", {"blobId": told["blobId"]}))
        if "nextOffset" in told:
            args = {"blobId": told["blobId"], "offset": told["nextOffset"]}
            return Answer(call("readResult", args))
        return Answer(text("ok"))

    with FakeOpenAI(answer) as reading:
        house.agent("reader", openai(reading.base_url), inventory(output), dialect="composite")
        house.space("library", "ada", "reader")
        with ada.listen("library") as listener:
            ada.say("library", "what is there?")
            listener.wait_for("run.completed")
        [*_, last] = reading.requests
        told = [json.loads(each["content"]) for each in last.messages if each["role"] == "tool"]
    [_, bubble] = ada.messages("library")
    [part] = bubble["parts"]
    shown = part["result"]
    assert shown == {
        "truncated": True,
        "preview": whole[:2000],
        "size": len(whole.encode()),
        "blobId": shown["blobId"],
        "url": f"/api/blobs/{shown['blobId']}",
    }
    assert told[0] == shown
    assert "".join(each["text"] for each in told[1:]) == whole
    kept = ada.request("GET", shown["url"])
    assert kept.content == whole.encode()
    assert kept.headers["content-type"] == "application/json"
    assert kept.headers["content-disposition"] == "attachment"
    assert fetch(eve, shown["blobId"]).status_code == 404


@pytest.mark.parametrize("visibility", ["hidden", "minimal"])
def test_a_large_result_that_nobody_sees_stays_with_the_agent(
    house: Roomful, model: FakeOpenAI, visibility: str
) -> None:
    ada, owner = house.person("ada"), house.person("owner")
    config = {
        "id": "shop",
        "name": "Shop",
        "model": openai(model.base_url),
        "tools": [inventory("x" * 100_000, visibility)],
    }
    owner.post("/api/agents", config, expect=201)
    house.space("room", "ada", "shop")
    house.agent("spy", openai(model.base_url), dialect="composite")
    house.space("den", "ada", "spy")
    model.answer(Answer(call("listInventory", {})), Answer(text("ok")))
    with ada.listen("room") as listener:
        ada.say("room", "go")
        listener.wait_for("run.completed")
    told = json.loads(asked_by_the_last_run(model, 2)[-1]["content"])
    assert (told["truncated"], told["size"], len(told["preview"])) == (True, 100_002, 2000)
    assert fetch(ada, told["blobId"]).status_code == 404
    assert fetch(owner, told["blobId"]).json() == "x" * 100_000
    model.answer(Answer(call("readResult", {"blobId": told["blobId"]})), Answer(text("ok")))
    with ada.listen("den") as listener:
        ada.say("den", "read it")
        listener.wait_for("run.completed")
    stolen = asked_by_the_last_run(model, 4)[-1]["content"]
    assert stolen.startswith("Error: there is no result or file")


def test_a_large_answer_is_shown_by_its_beginning(house: Roomful, model: FakeOpenAI) -> None:
    form = {
        "name": "askForList",
        "description": "Ask.",
        "executionType": "basic",
        "execution": {"mode": "no-execution"},
        "inputSchema": {"type": "object", "properties": {}},
    }
    ada, bob = house.person("ada"), house.person("bob")
    house.agent("agent", openai(model.base_url), form, dialect="composite")
    house.space("room", "ada", "bob", "agent")
    model.answer(Answer(call("askForList", {})), Answer(text("ok")))
    with ada.listen("room") as listener:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        waiting = listener.wait_for("run.waiting_tool").data["pendingToolCalls"]
        body = {"toolCallId": waiting[0]["toolCallId"], "result": "é" * 70_000}
        ada.post(f"/api/runs/{run_id}/tool-results", body)
        listener.wait_for("run.completed")
    shown = bob.messages("room")[-1]["parts"][0]["result"]
    assert shown["preview"] == '"' + "é" * 1999
    assert json.loads(asked_by_the_last_run(model, 2)[-1]["content"]) == shown
    assert fetch(bob, shown["blobId"]).json() == "é" * 70_000
