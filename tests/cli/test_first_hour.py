"""docs/first-hour.md, followed from top to bottom: every snippet in it works as it stands."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.cli.hand import Hand
from tests.servers.fake_openai import Answer, FakeOpenAI, text

PAGE = Path(__file__).parents[2] / "docs/first-hour.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


class Page:
    """The snippets in their order; each is asked for by its language."""

    def __init__(self) -> None:
        self._blocks: Iterator[tuple[str, str]] = iter(BLOCK.findall(PAGE.read_text(encoding="utf-8")))

    def next(self, language: str) -> str:
        found, snippet = next(self._blocks)
        assert found == language, snippet
        return snippet

    def is_over(self) -> bool:
        return next(self._blocks, None) is None


def append(path: Path, snippet: str) -> None:
    path.write_text(f"{path.read_text()}\n\n{snippet}")


def test_the_first_hour_works_as_written(hand: Hand) -> None:
    page = Page()
    assert "1 passed" in hand.type(page.next("sh"))
    hand.folder /= "my-room"
    serve = page.next("sh")
    with hand.serving(serve):
        gather, chat = page.next("sh").splitlines()
        assert hand.type(gather) == "in team: ada, helper\n"
        with hand.at_terminal(chat) as terminal:
            terminal.wait_for("team>")
            terminal.type("What does a laptop cost?\r")
            terminal.wait_for("1) Office")
            terminal.type("1\r")
            terminal.wait_for("Done. It goes to: Office.")
            terminal.type("/quit\r")
            assert terminal.wait_end() == 0

    config, script = hand.folder / "agents/helper.yaml", hand.folder / "agents/scripts/helper.yaml"
    append(hand.folder / "agents/tools.py", page.next("python"))
    append(config, page.next("yaml"))
    append(config, page.next("yaml"))
    script.write_text(script.read_text().replace("turns:\n", f"turns:\n{page.next('yaml')}"))
    append(hand.folder / "test_helper.py", page.next("python"))
    assert "2 passed" in hand.type(page.next("sh"))

    with hand.serving(serve), hand.at_terminal(chat) as terminal:
        terminal.wait_for("Done. It goes to: Office.")
        terminal.type("Please order a phone\r")
        terminal.wait_for("How many? (integer)")
        terminal.type("2\r")
        terminal.wait_for("Approve order?")
        terminal.type("y\r")
        terminal.wait_for("Ordered: ", "number: 7")
        terminal.type("/quit\r")
        assert terminal.wait_end() == 0

    scripted = config.read_text()
    _serve_a_real_model(hand, config, page, scripted)

    done = hand.try_to(f"{page.next('sh')}\ncomplete -p roomful", shell="bash")
    assert (done.returncode, done.stdout, done.stderr) == (0, "complete -F _roomful roomful\n", "")
    assert page.is_over()


def _serve_a_real_model(hand: Hand, config: Path, page: Page, scripted: str) -> None:
    """The real one is not asked: what is configured is shown to be fine and served. A local one is."""
    config.write_text(scripted.replace("model: scripted:helper\n", page.next("yaml")))
    assert "is fine" in hand.type("roomful validate agents/*.yaml")
    with hand.serving(page.next("sh")):
        pass
    with FakeOpenAI() as model:
        local = page.next("yaml").replace("http://127.0.0.1:11434/v1", model.base_url)
        config.write_text(scripted.replace("model: scripted:helper\n", local))
        model.answer(Answer(text("Real words.")))
        with hand.serving(page.next("sh").replace("MODEL_KEY=…", "MODEL_KEY=secret")):
            asked = "echo Hello | ROOMFUL_TOKEN=$(roomful token ada) roomful chat team"
            assert hand.type(asked) == "Helper: Real words.\n"
