"""The page's reader of server-sent events, in node, against the same streams as the Python client's."""

import base64
import json
import subprocess
from pathlib import Path

import pytest

from roomful.client.sse import Frame
from tests.clients.node import NODE
from tests.fuzz.engine import SEED, TIMES, chance_of
from tests.fuzz.frames import Sent, frames_in, sent

BATCH = 2000
SSE = Path(__file__).parents[2] / "web" / "client" / "src" / "sse.ts"
SCRIPT = """
import { FrameReader } from "SSE";
let input = "";
for await (const piece of process.stdin) input += piece;
const read = JSON.parse(input).map((pieces) => {
  const reader = new FrameReader();
  return pieces.flatMap((piece) => reader.read(Buffer.from(piece, "base64")));
});
console.log(JSON.stringify(read));
"""


def as_page(frame: Frame) -> dict[str, str | None]:
    return {"name": frame.name or "message", "data": frame.data.decode(errors="replace"), "id": frame.id}


def read_by_page(streams: list[Sent]) -> list[list[dict[str, str | None]]]:
    given = [[base64.b64encode(piece).decode() for piece in stream.pieces] for stream in streams]
    script = SCRIPT.replace("SSE", SSE.as_uri())
    command = [str(NODE), "--input-type=module", "--eval", script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def try_batch(seed: int, first: int, count: int) -> None:
    streams = [sent(chance_of("page frames", seed, number)) for number in range(first, first + count)]
    for stream, read in zip(streams, read_by_page(streams), strict=True):
        assert read == [as_page(frame) for frame in frames_in(stream.data)], stream


def test_the_page_reads_the_frames_that_were_written() -> None:
    try_batch(SEED, 0, BATCH)


@pytest.mark.long
def test_the_page_reads_very_many_frames() -> None:
    for first in range(0, round(100_000 * TIMES), BATCH):
        try_batch(SEED + 1, first, BATCH)
