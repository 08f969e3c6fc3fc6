from pathlib import Path

import pytest

from tests.cli.hand import Hand


@pytest.fixture
def hand(tmp_path: Path) -> Hand:
    return Hand(tmp_path)
