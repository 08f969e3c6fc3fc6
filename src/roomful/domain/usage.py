"""What a model was asked to read and what it wrote, in tokens."""

from roomful.domain.shape import Frozen


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
