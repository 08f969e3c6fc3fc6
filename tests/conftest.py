"""Fixtures shared by every test."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import Roomful

hypothesis.settings.register_profile("here", deadline=None, print_blob=True)
hypothesis.settings.load_profile("here")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Roomful]:
    """A fresh Roomful process on SQLite."""
    with Roomful(tmp_path) as house:
        yield house


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    """A fresh OpenAI-compatible server."""
    with FakeOpenAI() as server:
        yield server
