"""A project of one's own: it works as it was made, and nothing is written over."""

from pathlib import Path

import pytest

from roomful.cli import main
from tests.cli.hand import Hand
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text

FILES = [
    ".env.example",
    ".gitignore",
    "README.md",
    "agents/helper.yaml",
    "agents/scripts/helper.yaml",
    "agents/tools.py",
    "roomful.toml",
    "test_helper.py",
]


def test_the_three_commands_that_init_prints_lead_to_a_talk_with_the_agent(hand: Hand) -> None:
    printed = hand.type("roomful init my-room").splitlines()
    assert [line.removeprefix("wrote my-room/") for line in printed if line.startswith("wrote")] == FILES
    serve, gather, chat = [line.strip() for line in printed if line.startswith("  ")]

    with hand.serving(serve):
        assert hand.type(gather) == "in team: ada, helper\n"
        with hand.at_terminal(chat) as terminal:
            terminal.wait_for("team>")
            terminal.type("What does a laptop cost?\r")
            terminal.wait_for("price", "1299", "A laptop is 1299 dollars.", "1) Office 2) Home")
            terminal.type("2\r")
            terminal.wait_for("Done. It goes to: Home.")
            terminal.type("/quit\r")
            assert terminal.wait_end() == 0


def test_a_project_passes_its_own_test_and_every_check(hand: Hand) -> None:
    hand.type("roomful init")
    assert "agent 'helper' with" in hand.type("roomful validate agents/*.yaml")
    assert "1 passed" in hand.type("pytest -W error")
    (hand.folder / "agents/tools.py").write_text(
        (hand.folder / "agents/tools.py").read_text().replace("1299", "1300")
    )
    assert hand.try_to("pytest").returncode == 1


def test_in_the_folder_itself_the_commands_are_printed_without_a_way_there(hand: Hand) -> None:
    printed = hand.type("roomful init .").splitlines()
    assert next(line.strip() for line in printed if line.startswith("  ")) == "roomful serve"
    spaced = hand.type("roomful init 'my room'").splitlines()
    assert "  cd 'my room' && roomful serve" in spaced


def test_another_model_is_one_line_and_a_variable(hand: Hand) -> None:
    hand.type("roomful init")
    with FakeOpenAI() as model:
        config = hand.folder / "agents/helper.yaml"
        address = f'{{name: "openai:fake", baseUrl: "{model.base_url}", apiKey: "${{env.MODEL_KEY}}"}}'
        config.write_text(config.read_text().replace("model: scripted:helper", f"model: {address}"))
        hand.environment |= {"ROOMFUL_TOOL_ENV": "MODEL_KEY", "MODEL_KEY": "key-of-the-fake"}
        model.answer(Answer(call("price", {"product": "chair"})), Answer(text("It is 249.")))
        with hand.serving("roomful serve"):
            hand.type("roomful space team --person ada --agent helper")
            said = hand.type("echo 'A chair?' | ROOMFUL_TOKEN=$(roomful token ada) roomful chat team")
        first, second = model.wait_for_requests(2)
    assert said.endswith("It is 249.\n")
    assert {tool["function"]["name"] for tool in first.body["tools"]} >= {"price", "askDelivery"}
    assert second.messages[-1]["content"] == "249"


@pytest.mark.parametrize("taken", ["agents/tools.py", "README.md"])
def test_nothing_is_written_when_one_of_the_files_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: str
) -> None:
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).write_text("mine")
    assert main(["init", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.startswith(f"roomful: {tmp_path / taken}: there already")) == ("", True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file")]) == 1
    assert f"{tmp_path / 'file'}: cannot be written" in capsys.readouterr().err
