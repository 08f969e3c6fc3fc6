"""What a shell completes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roomful.cli import main, make_parser
from roomful.cli.completing import places

ASK = """
source "$0"
COMP_WORDS=(roomful "$@")
COMP_CWORD=$#
_roomful
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "roomful.bash"
    command = [sys.executable, "-m", "roomful.cli", "completion", "bash"]
    path.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    return path


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "helper.yaml").touch()
    (tmp_path / "a file.json").touch()
    (tmp_path / "notes.txt").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["se"], ["serve"]),
        (["re"], ["replay"]),
        (["--v"], ["--version"]),
        (["serve", "--d"], ["--database", "--demo"]),
        (["serve", "--port", "9", "--a"], ["--agents"]),
        (["serve", "--agents", ""], ["agents"]),
        (["serve", "--port", ""], []),
        (["serve", "x"], []),
        (["validate", "a"], ["a file.json", "agents"]),
        (["validate", "agents/"], ["agents/helper.yaml"]),
        (["init", ""], ["-h", "--help", "agents"]),
        (["chat", "team", "--token-file", "n"], ["notes.txt"]),
        (["import", "m"], ["mastra"]),
        (["import", "mastra", "--o"], ["--owner"]),
        (["completion", ""], ["bash", "zsh", "fish", "-h", "--help"]),
        (["token", "serve", "--d"], ["--database"]),
    ],
    ids=" ".join,
)
def test_bash_offers_commands_options_and_files(
    script: Path, desk: Path, typed: list[str], offered: list[str]
) -> None:
    command = ["bash", "--norc", "-c", ASK, str(script), *typed]
    done = subprocess.run(command, cwd=desk, capture_output=True, text=True, check=False)
    assert (sorted(done.stdout.split("\n")[:-1]), done.stderr) == (sorted(offered or [""]), "")


def _in_fish(word: str) -> str:
    return f"-l {word[2:]} " if word.startswith("--") else word.replace("-", "-s ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_has_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for place in places(make_parser()):
        shown = [_in_fish(word) if shell == "fish" else word for word in place.words]
        assert [word for word in shown if word not in script] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_one_that_its_shell_reads(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    main(["completion", shell])
    path = tmp_path / "script"
    path.write_text(capsys.readouterr().out)
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
