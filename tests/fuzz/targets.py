"""Everything that is fuzzed in one process, by name."""

from tests.fuzz import api, arguments, documents, filling, folding, frames, places, requests, steps

_ALL = (
    *arguments.TARGETS,
    *steps.TARGETS,
    *frames.TARGETS,
    *places.TARGETS,
    *filling.TARGETS,
    *requests.TARGETS,
    *documents.TARGETS,
    *api.TARGETS,
    *folding.TARGETS,
)
TARGETS = {each.name: each for each in _ALL}
assert len(TARGETS) == len(_ALL)
