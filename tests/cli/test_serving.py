"""`roomful serve` as an operator sets it up: what cannot be is refused in words, and where it is is said."""

import signal
import sys
from pathlib import Path

import pytest

from roomful.domain.errors import Invalid
from roomful.settings import check_settings
from tests.cli.hand import Hand
from tests.servers.roomful import PATIENCE, free_port
from tests.servers.watched import ROOMFUL, Watched


def test_a_log_level_that_there_is_not_is_refused_in_words(hand: Hand) -> None:
    refused = hand.try_to("ROOMFUL_LOG_LEVEL=loud roomful serve")
    assert (refused.returncode, refused.stdout) == (1, "")
    [said] = refused.stderr.splitlines()
    assert said.startswith("roomful: settings: ")
    assert all(word in said for word in ("debug", "info", "warning", "error", "log_level"))


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "INFO", "Warning"])
def test_a_log_level_is_known_however_it_is_written(level: str) -> None:
    assert check_settings({"log_level": level}).log_level == level


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("log_level", "information"),
        ("log_level", "info\n"),
        ("lease_seconds", "0"),
        ("lease_seconds", "-1"),
        ("lease_seconds", "nan"),
        ("heartbeat_seconds", "0"),
        ("heartbeat_seconds", "20.5"),
        ("heartbeat_seconds", "inf"),
    ],
)
def test_what_nobody_can_live_with_is_refused(setting: str, value: str) -> None:
    with pytest.raises(Invalid, match=setting):
        check_settings({setting: value})


def test_an_address_of_ipv6_is_said_as_a_browser_takes_it(tmp_path: Path) -> None:
    port = free_port()
    with Watched([*ROOMFUL, "serve", "--host", "::1", "--port", str(port)], tmp_path) as running:
        assert running.said("Roomful is at").split() == ["Roomful", "is", "at", f"http://[::1]:{port}"]


COLD = """
import asyncio
from roomful.app import Gateway
from roomful.app.serving import serve
from roomful.settings import Settings


class Cold(Gateway):
    async def warm(self) -> None:
        raise OSError("it stays cold")

    async def close(self) -> None:
        await super().close()
        print("it is closed", flush=True)


async def main() -> None:
    settings = Settings(database="sqlite:///:memory:", admin_key="key", port=0)
    await serve(await Cold.open(settings), settings, lambda: print("it is open", flush=True))


asyncio.run(main())
"""


def test_a_gateway_that_did_not_get_warm_is_closed_all_the_same(tmp_path: Path) -> None:
    with Watched([sys.executable, "-c", COLD], tmp_path) as running:
        running.said("it is open")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0
        running.said("it stays cold")
        running.said("it is closed")
