"""`roomful chat` between two pipes: lines in, plain text and an exit code out; and what is said in need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roomful.client.terminal.plain import PlainText
from roomful.domain.messages import Message, TextPart
from tests.client.pseudo import piped
from tests.client.test_terminal import EVIL, tool, world
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, status, text
from tests.servers.roomful import Roomful


def test_a_line_is_posted_and_its_answer_comes_as_plain_text(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(
        house, model, tool("look", execution={"mode": "static", "output": {"found": 2}}), speaks="both"
    )
    model.answer(
        Answer([*text("Let me look."), *call("look", {"q": "it"})]), Answer(text("Two.\r\nThat is all."))
    )
    done = piped(ada, "hello\n", "room")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Helper: Let me look.",
        'Helper: [look] complete {"q":"it"} → {"found":2}',
        "Helper: Two.",
        "That is all.",
    ]
    assert [one["parts"][0]["text"] for one in ada.messages("room") if one["role"] == "user"] == ["hello"]


def test_text_comes_out_while_it_is_written(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, speaks="text")
    model.answer(Answer([*text("The sun is "), hold(), *text("a star.")]))
    environment = {**os.environ, "ROOMFUL_URL": house.url, "ROOMFUL_TOKEN": ada.token}
    command = [sys.executable, "-m", "roomful.cli", "chat", "room"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=house.folder
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"what is the sun?\n")
        process.stdin.flush()
        begun = b""
        while b"The sun is " not in begun:
            begun += os.read(process.stdout.fileno(), 100)
        assert b"star" not in begun
        model.release()
        rest, _ = process.communicate()
        assert begun + rest == b"Helper: The sun is a star.\n"
        assert process.returncode == 0


def test_it_ends_quietly_when_nobody_reads_any_more(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, speaks="text")
    model.answer(Answer(text("One.")))
    environment = {**os.environ, "ROOMFUL_URL": house.url, "ROOMFUL_TOKEN": ada.token}
    command = [sys.executable, "-m", "roomful.cli", "chat", "room"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=house.folder
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert process.wait(30) == 1
        assert process.stderr.read() == b""


def test_a_text_that_begins_again_is_written_again() -> None:
    written: list[str] = []
    plain = PlainText(written.append, {"helper": "Helper"})
    part = TextPart("p", "The moon", "streaming")
    message = Message("m", "room", "helper", 2, "open", "assistant", [part], "", "")
    plain.show(message)
    plain.show(message)
    for said in ("", "The sun", "The sun is"):
        part.text = said
        plain.show(message)
    assert "".join(written) == "Helper: The moon\nHelper: The sun is"


def test_every_line_is_answered_before_the_next_is_said(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, speaks="text")
    model.answer(Answer(text("One.")), Answer(text("Two.")))
    done = piped(ada, "first\n\n  \nsecond", "room")
    assert (done.returncode, done.stdout) == (0, "Helper: One.\nHelper: Two.\n")
    assert [one["parts"][0]["text"] for one in ada.messages("room")] == ["first", "One.", "second", "Two."]


def test_a_run_that_fails_is_said_and_is_a_failure(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, speaks="text")
    model.answer(status(400))
    done = piped(ada, "hello\n", "room")
    assert done.returncode == 1
    assert done.stderr.startswith("roomful: Helper failed: ")


def test_a_form_that_nobody_answered_is_said_and_is_no_failure(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("form"))
    model.answer(Answer(call("form", {"title": "Name?"})))
    done = piped(ada, "ask\n", "room")
    assert (done.returncode, done.stdout) == (0, 'Helper: [form] waiting {"title":"Name?"}\n')
    assert done.stderr == "roomful: Helper waits for an answer to form: roomful chat room\n"


def test_what_others_write_has_no_codes_in_it(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("show", execution={"mode": "pass-through"}), speaks="both")
    model.answer(Answer([*text(EVIL, size=1), *call("show", {EVIL: EVIL})]), Answer(text("Bye.")))
    done = piped(ada, "go\n", "room")
    assert "Helper: ␛[2J␛]0;owned␇<U+009B>31m␍over<U+202E>gnp.exe␈␈\n" in done.stdout
    assert all(character.isprintable() or character == "\n" for character in done.stdout)


@pytest.mark.parametrize(
    ("arguments", "more", "said"),
    [
        (["room"], {"ROOMFUL_TOKEN": ""}, "roomful: who are you? Set ROOMFUL_TOKEN"),
        (["room"], {"ROOMFUL_TOKEN": "wrong"}, "roomful: "),
        (["nowhere"], {}, "roomful: "),
        (["room", "--url", "http://127.0.0.1:1"], {}, "roomful: no answer from http://127.0.0.1:1"),
        (["room", "--url", "nonsense"], {}, "roomful: 'nonsense' is not the address of a gateway"),
        (["room", "--token-file", "missing"], {}, "roomful: the token cannot be read from missing"),
    ],
    ids=["no token", "wrong token", "no space", "no server", "no address", "no file"],
)
def test_what_is_missing_is_said_in_one_line(
    house: Roomful, arguments: list[str], more: dict[str, str], said: str
) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    done = piped(ada, "hello\n", *arguments, **more)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1
    assert ada.token not in done.stderr


def test_the_token_may_come_from_a_file(house: Roomful, tmp_path: Path) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    (tmp_path / "token").write_text(f"{ada.token}\n")
    done = piped(ada, "hello\n", "room", "--token-file", str(tmp_path / "token"), ROOMFUL_TOKEN="wrong")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [one["parts"][0]["text"] for one in ada.messages("room")] == ["hello"]
