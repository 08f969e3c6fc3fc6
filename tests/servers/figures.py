"""What a gateway tells Prometheus, read as Prometheus reads it."""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.servers.roomful import Caller

Labels: TypeAlias = frozenset[tuple[str, str]]
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"\\]*)"(?:,|$)')
PARTS = ("_bucket", "_sum", "_count")


@dataclass
class Figures:
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    """Of each metric: counter, gauge or histogram."""
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict[tuple[str, Labels], float])

    def __call__(self, name: str, **labels: str) -> float:
        """0 for what was not counted yet."""
        return self.samples.get((name, frozenset(labels.items())), 0.0)

    @property
    def names(self) -> set[str]:
        """Every name that can be asked for, those of a histogram's parts included."""
        parts = {name + part for name, kind in self.kinds.items() if kind == "histogram" for part in PARTS}
        return set(self.kinds) | parts

    def labels(self, name: str) -> set[str]:
        """The names of the labels that samples of it have."""
        return {label for (of, labels) in self.samples if of == name for label, _ in labels}


def read_figures(caller: Caller) -> Figures:
    answer = caller.request("GET", "/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert answer.text.endswith("\n")
    found = Figures()
    said: set[str] = set()
    for line in answer.text.splitlines():
        match line.split(" ", 3):
            case ["#", "HELP", name, words]:
                assert words
                said.add(name)
            case ["#", "TYPE", name, kind]:
                assert name in said, f"{name} has no help before its type"
                assert name not in found.kinds, f"{name} is told twice"
                found.kinds[name] = kind
            case _:
                _read_sample(line, found)
    return found


def _read_sample(line: str, found: Figures) -> None:
    sample = _SAMPLE.fullmatch(line)
    assert sample is not None, line
    name, text, value = sample.groups()
    labels = _LABEL.findall(text or "")
    assert ",".join(f'{label}="{said}"' for label, said in labels) == (text or ""), line
    key = name, frozenset(labels)
    assert key not in found.samples, f"{line} is told twice"
    found.samples[key] = float(value)
    whole = next((name.removesuffix(part) for part in PARTS if name.endswith(part)), name)
    assert found.kinds.get(name) in ("counter", "gauge") or found.kinds.get(whole) == "histogram", line
    assert name.endswith("_total") == (found.kinds.get(name) == "counter"), line
