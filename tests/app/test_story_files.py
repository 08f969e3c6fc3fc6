"""A story's file: what is in it and what never is, and what is said of one that is not right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.storytelling import Replayed, Shelf, lines_of, rewrite, typed
from tests.http.shopping import shop, story
from tests.http.test_delegation import SEARCH, delegate
from tests.http.test_stories import document
from tests.http.test_visibility import calling
from tests.servers.fake_openai import Answer, FakeOpenAI, hold, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller, Roomful, openai

SPACE = "shop-space"
Lines = list[dict[str, Any]]


@pytest.fixture
def ada(house: InHouse, model: FakeOpenAI) -> Caller:
    """In a shop where one run was."""
    ada = shop(house, model)
    model.answer(*story())
    with ada.listen(SPACE) as listener:
        ada.say(SPACE, "laptops?")
        listener.wait_for("run.completed")
    return ada


@pytest.fixture
def path(house: InHouse, ada: Caller, shelf: Shelf) -> Path:
    return shelf.export(house, SPACE)


def things(lines: Lines, kind: str) -> list[Any]:
    return [line[kind] for line in lines if kind in line]


def test_the_same_story_has_the_same_bytes(house: InHouse, path: Path, shelf: Shelf) -> None:
    assert shelf.export(house, SPACE, "again").read_bytes() == path.read_bytes()


def test_a_story_begins_with_its_version_and_holds_everybody(path: Path) -> None:
    lines = lines_of(path)
    assert lines[0] == {"roomful": 1, "spaceId": SPACE}
    assert lines[-1] == {"end": len(lines) - 1}
    assert [one["id"] for one in things(lines, "entity")] == ["ada", "shop"]
    assert [one["id"] for one in things(lines, "agent")] == ["shop"]
    assert [one["members"] for one in things(lines, "space")] == [
        [
            {"entityId": "ada", "name": "Ada", "kind": "human", "role": "member"},
            {"entityId": "shop", "name": "Shop", "kind": "agent", "role": "member"},
        ]
    ]
    [run] = things(lines, "run")
    assert [[one["type"] for one in step["said"]] for step in run["steps"]] == [["call"] * 5, ["text"]]
    assert path.stat().st_mode & 0o777 == 0o600


def test_commands_in_a_process_of_their_own_beside_a_running_server_and_without_one(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        model.answer(*story())
        with ada.listen(SPACE) as listener:
            ada.say(SPACE, "laptops?")
            listener.wait_for("run.completed")
        beside = typed("export", SPACE, "--database", house.database, folder=tmp_path)
    assert beside.out == f"{SPACE}.story.jsonl: 2 messages, 1 runs\n"
    typed("export", SPACE, "--database", house.database, "--out", "later.jsonl", folder=tmp_path)
    written = tmp_path / f"{SPACE}.story.jsonl"
    assert (tmp_path / "later.jsonl").read_bytes() == written.read_bytes()
    told = typed("replay", written.name, "--quiet", folder=tmp_path)
    assert (told.code, told.out, told.err) == (0, "equal: 2 messages, 1 runs\n", "")


def test_secrets_stay_where_they_are(house: InHouse, model: FakeOpenAI, shelf: Shelf) -> None:
    ada = house.person("ada")
    secret = {"name": "openai:fake", "baseUrl": model.base_url, "apiKey": "CANARY-key"}
    call_out = {
        "name": "callOut",
        "executionType": "request",
        "execution": {
            "url": "http://127.0.0.1:1/",
            "headers": {"Authorization": "Bearer CANARY-header", "X-Api-Key": "${env.MY_KEY}"},
        },
    }
    inner = delegate("scout", {**call_out, "name": "inner"}, model=secret)
    house.agent("shop", secret, call_out, inner, SEARCH)
    house.space("room", "ada", "shop")
    model.answer(Answer(text("ok")))
    with ada.listen("room") as listener:
        ada.say("room", "go")
        listener.wait_for("run.completed")
    path = shelf.export(house, "room")
    written = path.read_text()
    assert "CANARY" not in written
    assert "sealed:" not in written
    assert "${env.MY_KEY}" in written
    assert "${env.NOT_EXPORTED}" in written
    assert ada.token not in written
    assert shelf.replay(path).code == 0


def test_a_file_that_is_there_is_left_unless_one_says_so(house: InHouse, path: Path, shelf: Shelf) -> None:
    path.write_text("mine")
    words = ("export", SPACE, "--database", house.database, "--out", str(path))
    refused = shelf.type(*words)
    assert (refused.code, path.read_text()) == (1, "mine")
    assert (
        refused.err == f"roomful: {path} is there already: give another --out, or --force to write over it\n"
    )
    assert shelf.type(*words, "--force").code == 0
    assert shelf.replay(path).code == 0
    assert sorted(one.name for one in path.parent.glob("*.jsonl*")) == [path.name]


@pytest.mark.parametrize(
    ("space", "database", "said"),
    [
        ("nowhere", "", "there is no space 'nowhere' in this database"),
        (SPACE, "sqlite:///{folder}/none.db", "there is no database {folder}/none.db"),
        (SPACE, "sqlite:///{folder}/%6eone.db?max_page_count=9", "there is no database {folder}/none.db"),
        (SPACE, "sqlite:///:memory:", "there is no database in memory"),
    ],
)
def test_what_is_not_there_is_not_exported(
    house: InHouse, ada: Caller, shelf: Shelf, space: str, database: str, said: str
) -> None:
    folder = str(shelf.folder)
    url = database.format(folder=folder) or house.database
    told = shelf.type("export", space, "--database", url, "--out", f"{folder}/out.jsonl")
    assert told.code == 1
    assert said.format(folder=folder) in told.err
    assert not Path(folder, "out.jsonl").exists()
    assert not Path(folder, "none.db").exists()


def test_a_database_is_found_whatever_its_name(tmp_path: Path, shelf: Shelf) -> None:
    with InHouse(tmp_path, database=f"sqlite:///{tmp_path}/our%20rooms.db") as house:
        ada = house.person("ada")
        house.space("room", "ada")
        ada.say("room", "hello")
        lines = lines_of(shelf.export(house, "room"))
    assert (tmp_path / "our rooms.db").is_file()
    assert [one["parts"][0]["text"] for one in things(lines, "message")] == ["hello"]


def newer(lines: Lines) -> None:
    lines[0]["roomful"] = 2


def without_its_end(lines: Lines) -> None:
    del lines[-1]


def without_a_line(lines: Lines) -> None:
    del lines[3]


def without_a_call(lines: Lines) -> None:
    things(lines, "run")[0]["calls"].pop()


def with_something_else(lines: Lines) -> None:
    lines[2] = {"secret": 1}


def with_a_wrong_field(lines: Lines) -> None:
    things(lines, "message")[0]["seq"] = "first"


def with_no_time(lines: Lines) -> None:
    things(lines, "message")[0]["createdAt"] = "yesterday"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (newer, "is a story of version 2, and this Roomful reads up to 1"),
        (without_its_end, "its end is missing"),
        (without_a_line, "lines are missing or were added"),
        (without_a_call, "is missing"),
        (with_something_else, "line 3: is not one of entity, agent, space, run, message, end"),
        (with_a_wrong_field, "this message cannot be read: Expected `int`, got `str` - at `$.seq`"),
        (with_no_time, "'yesterday' is no time"),
    ],
)
def test_a_spoilt_story_is_refused_in_words(
    path: Path, shelf: Shelf, spoil: Callable[[Lines], None], said: str
) -> None:
    lines = lines_of(path)
    spoil(lines)
    told = shelf.replay(rewrite(path, lines))
    assert (told.code, told.out) == (1, "")
    assert said in told.err


@pytest.mark.parametrize("content", [b"", b"[]\n", b'{"a": 1}\n', b"\xff\xfe", b"{" * 100_000])
def test_what_is_no_story_is_refused(tmp_path: Path, shelf: Shelf, content: bytes) -> None:
    path = tmp_path / "some.file"
    path.write_bytes(content)
    assert shelf.replay(path) == Replayed(
        1, "", f"roomful: {path}: is not a story: roomful export writes them\n"
    )


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path, shelf: Shelf) -> None:
    assert "cannot be read" in shelf.replay(tmp_path / "none").err
    assert "cannot be read" in shelf.replay(tmp_path).err


def a_word(lines: Lines) -> None:
    things(lines, "message")[1]["parts"][0]["text"] = "Here are no laptops:"


def an_argument(lines: Lines) -> None:
    call = things(lines, "run")[0]["calls"][1]
    call["rawArgs"] = call["rawArgs"].replace("1299", "999")


def a_missing_call(lines: Lines) -> None:
    del things(lines, "run")[0]["steps"][0]["said"][0]


def a_question(lines: Lines) -> None:
    things(lines, "message")[0]["entityId"] = "shop"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (a_word, 'recorded: "Here are no laptops:"\n  replayed: "Here are some laptops:"\n'),
        (an_argument, "different: messages[1].parts[1].args.price\n  recorded: 1299\n  replayed: 999\n"),
        (a_missing_call, "different: messages[1].parts[0].type\n"),
        (a_question, "different: messages[1]\n"),
    ],
)
def test_an_edited_story_comes_out_differently(
    path: Path, shelf: Shelf, edit: Callable[[Lines], None], said: str
) -> None:
    lines = lines_of(path)
    edit(lines)
    told = shelf.replay(rewrite(path, lines), "--quiet")
    assert told.code == 1
    assert said in told.out


def test_an_edited_result_is_what_the_space_is_told(house: InHouse, model: FakeOpenAI, shelf: Shelf) -> None:
    ada = house.person("ada")
    dialect = {**document("composite-minimal-tool"), "visibility": "full"}
    house.agent("doer", openai(model.base_url), {**dialect, "executionType": "http", "execution": OUT})
    house.space("room", "ada", "doer")
    model.answer(calling((dialect["name"], {})), calling())
    with ada.listen("room") as listener:
        ada.say("room", "go")
        listener.wait_for("run.completed")
    path = shelf.export(house, "room")
    lines = lines_of(path)
    [call] = things(lines, "run")[0]["calls"]
    call["error"] = "something else"
    told = shelf.replay(rewrite(path, lines))
    assert told.code == 1
    assert 'replayed: "something else"' in told.out


OUT = {"url": "http://127.0.0.1:1/", "method": "GET"}


def test_what_cannot_be_told_again_is_named(house: InHouse, model: FakeOpenAI, shelf: Shelf) -> None:
    ada = house.person("ada")
    house.agent("slow", openai(model.base_url), speaks="text")
    house.space("room", "ada", "slow")
    model.answer(Answer(text("Yes.")), Answer([*text("Well, "), hold(), *text("no.")]))
    with ada.listen("room") as listener:
        gone = ada.say("room", "Really?")
        listener.wait_for("run.completed")
        ada.call("DELETE", f"/api/spaces/room/messages/{gone['message']['id']}", expect=204)
        ada.say("room", "And now?")
        listener.wait_for("text-delta", count=2)
        told = shelf.replay(shelf.export(house, "room"))
        model.release()
        listener.wait_for("run.completed", count=2)
    assert told.code == 0
    lines = [line.partition(": ")[2] for line in told.out.splitlines() if line.startswith("as given")]
    assert [line.partition(": ")[2] for line in lines] == [
        "deleted: what it said is not known",
        "still going on when the story was written",
        "still going on when the story was written",
    ]
    assert told.verdict == "equal: 2 messages, 1 runs (2 messages, 1 runs as given)"


def test_nothing_that_was_said_can_write_elsewhere_on_the_screen(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    model.answer(Answer(text("ok")))
    with ada.listen(SPACE) as listener:
        ada.say(SPACE, "red: \x1b[31m, up: \x1b[A, back\rover")
        listener.wait_for("run.completed")
    out = shelf.replay(shelf.export(house, SPACE)).out
    assert "\x1b" not in out
    assert "\r" not in out
