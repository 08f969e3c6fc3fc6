"""How much is measured: all of it, or enough to see that everything works."""

import msgspec


class Sizes(msgspec.Struct, frozen=True):
    repeats: int = 3
    seconds: float = 2.0
    """How long runs are asked for at each concurrency,"""
    most_runs: int = 1500
    """and how many at the most."""
    deltas: int = 200
    streams: int = 64
    fan_out: int = 100
    crowd: int = 1000
    idle_seconds: float = 3.0
    storm: int = 5000
    argument_characters: int = 100_000
    stored: int = 6400
    messages: int = 1_000_000
    reads: int = 200
    starts: int = 3
    cycles: int = 30
    delegating_runs: int = 10


QUICK = Sizes(
    repeats=1,
    seconds=0.2,
    most_runs=20,
    deltas=20,
    streams=4,
    fan_out=5,
    crowd=20,
    idle_seconds=0.2,
    storm=40,
    argument_characters=10_000,
    stored=128,
    messages=2000,
    reads=5,
    starts=1,
    cycles=2,
    delegating_runs=2,
)
