"""A house in a thread, which starts at once, and a shelf for its stories."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.storytelling import Shelf
from tests.servers.inhouse import InHouse


@pytest.fixture
def house(tmp_path: Path) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        yield house


@pytest.fixture
def shelf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shelf:
    return Shelf(tmp_path, capsys)
