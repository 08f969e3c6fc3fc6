"""One error family: a machine code and a sentence that a person can act on.

RoomfulError
├── Invalid         the request cannot be understood or contradicts itself
├── Unauthorized    no token, or one that is not valid
├── Forbidden       known, but not allowed to do this
├── NotFound        no such thing, or none that the caller may see
├── Conflict        somebody else was first
├── TooLarge        over a stated limit
├── RateLimited     too often
├── OverBound       there are as many runs of a chain, memories, goals or plans as there may be
├── Unavailable     a part of the house does not answer; try again
└── LeaseLost       another worker drives this run now; stop without a word
"""

from typing import ClassVar


class RoomfulError(Exception):
    code: ClassVar[str] = "internal"
    status: int = 0
    """The HTTP status with which a client was told of it; 0 where it was not told over HTTP."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Invalid(RoomfulError):
    """`malformed` says that the bytes were not even JSON (400), else they were and are wrong (422)."""

    code = "invalid"

    def __init__(self, detail: str, *, malformed: bool = False) -> None:
        super().__init__(detail)
        self.malformed = malformed


class Unauthorized(RoomfulError):
    code = "unauthorized"


class Forbidden(RoomfulError):
    code = "forbidden"


class NotFound(RoomfulError):
    code = "not_found"


class Conflict(RoomfulError):
    code = "conflict"

    def __init__(self, detail: str, outcome: object = None) -> None:
        super().__init__(detail)
        self.outcome = outcome


class TooLarge(RoomfulError):
    code = "too_large"


class RateLimited(RoomfulError):
    code = "rate_limited"

    def __init__(self, detail: str, retry_after: float = 1.0) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class OverBound(RoomfulError):
    """`bound` is the name of the limit that was hit."""

    code = "limit"

    def __init__(self, bound: str, detail: str, whom: str | None = None) -> None:
        super().__init__(detail)
        self.bound = bound
        self.whom = whom


class Unavailable(RoomfulError):
    code = "unavailable"


class LeaseLost(RoomfulError):
    code = "conflict"
