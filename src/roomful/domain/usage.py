"""What a model was asked to read and what it wrote, in tokens, and what that costs."""

from typing import Literal

from roomful.domain.shape import Frozen

PER = 1_000_000
"""So many tokens have the price that is written."""


class Usage(Frozen):
    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens


class Price(Frozen):
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / PER


class Cost(Frozen):
    amount: float
    currency: Literal["USD"] = "USD"
