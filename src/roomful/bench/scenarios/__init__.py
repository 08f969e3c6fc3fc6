"""What is measured, by name."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from roomful.bench.figures import Figure
from roomful.bench.scenarios.following import arguments
from roomful.bench.scenarios.pausing import pause
from roomful.bench.scenarios.readers import crowd, fanout, idle
from roomful.bench.scenarios.reading import history, recall
from roomful.bench.scenarios.runs import delay, parallel, routing, runs, streams
from roomful.bench.scenarios.starting import start
from roomful.bench.scenarios.storing import store
from roomful.bench.scenarios.storming import storm
from roomful.bench.stage import Stage

Scenario: TypeAlias = Callable[[Stage], Awaitable[list[Figure]]]

SCENARIOS: Final[dict[str, Scenario]] = {
    scenario.__name__: scenario
    for scenario in (
        runs,
        delay,
        streams,
        routing,
        parallel,
        pause,
        fanout,
        crowd,
        idle,
        storm,
        arguments,
        store,
        history,
        recall,
        start,
    )
}
