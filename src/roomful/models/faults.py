"""What can go wrong with a provider, in words that a person can act on and that hold no secret.

code                 again?  when
model_refused        no      no key, or the provider does not take it (401, 403)
model_rejected       no      the provider does not take the request (other 4xx, a redirect)
model_rate_limited   yes     429
model_unavailable    yes     500, 502, 503, 504, 529
model_unreachable    yes     no connection, or it closed before the answer began
model_error          (says)  an error object inside the stream
model_cut            yes     the stream ended in the middle
model_silent         no      nothing said for `silence_seconds`, whatever was sent: that was long enough
model_garbage        no      the answer is not what a model server sends
model_too_large      no      the answer has no end
"""

import re
from typing import cast

from roomful.domain.deltas import ModelFailed
from roomful.domain.shape import Json

RETRIED = frozenset({429, 500, 502, 503, 504, 529})
_RETRIED_WORDS = frozenset(
    {
        "internal_server_error",
        "overloaded",
        "overloaded_error",
        "rate_limit_error",
        "rate_limit_exceeded",
        "server_error",
        "service_unavailable",
        "timeout",
    }
)
EXCERPT = 200
_TOKEN = re.compile(r"[A-Za-z0-9_+/=*.-]{20,}")
_BREAKS = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff]+")


def excerpt(text: str, secret: str = "", keep: str = "") -> str:
    """A short piece of a provider's words without the secret, or anything else that looks like one."""
    if secret:
        text = text.replace(secret, "***")
    text = _TOKEN.sub(lambda found: found[0] if found[0].strip(".") == keep else "***", text)
    text = _BREAKS.sub(" ", text).strip()
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def status_fault(model: str, status: int, said: str) -> ModelFailed:
    """`said` is an excerpt of the provider's words, or empty."""
    words = f": {said}" if said else ""
    if status in (401, 403):
        return ModelFailed(
            "model_refused",
            f"The provider of {model} refused the key (HTTP {status}): check the model's apiKey",
        )
    if status == 429:
        return ModelFailed(
            "model_rate_limited", f"The provider of {model} asks to slow down (HTTP 429){words}", retry=True
        )
    if status in RETRIED:
        return ModelFailed(
            "model_unavailable", f"The provider of {model} is in trouble (HTTP {status}){words}", retry=True
        )
    if 300 <= status < 400:
        return ModelFailed(
            "model_rejected",
            f"The provider of {model} sends the request elsewhere (HTTP {status}): check the model's baseUrl",
        )
    hint = ": check the model's name and baseUrl" if status == 404 and not said else words
    return ModelFailed(
        "model_rejected", f"The provider of {model} rejected the request (HTTP {status}){hint}"
    )


def stream_fault(model: str, error: Json, secret: str = "") -> ModelFailed:
    """An error that the provider reports after the answer began."""
    fields = cast(dict[str, Json], error) if isinstance(error, dict) else {"message": error}
    marks = [fields.get("code"), fields.get("type"), fields.get("status")]
    retry = any(
        (isinstance(mark, int) and mark in RETRIED)
        or (isinstance(mark, str) and (mark.lower() in _RETRIED_WORDS or mark in map(str, RETRIED)))
        for mark in marks
    )
    said = excerpt(str(fields.get("message") or "no reason given"), secret, model.partition(":")[2])
    return ModelFailed("model_error", f"The provider of {model} broke off: {said}", retry=retry)


def unreachable(model: str, why: str, *, retry: bool = True) -> ModelFailed:
    return ModelFailed("model_unreachable", f"The provider of {model} cannot be reached: {why}", retry=retry)


def cut(model: str) -> ModelFailed:
    return ModelFailed("model_cut", f"The answer of {model} ended in the middle", retry=True)


def silent(model: str, seconds: float) -> ModelFailed:
    return ModelFailed("model_silent", f"{model} said nothing for {seconds:g} s")


def garbage(model: str, what: str) -> ModelFailed:
    return ModelFailed(
        "model_garbage",
        f"{model} did not answer as a Chat Completions server does: {what}; check its baseUrl",
    )


def too_large(model: str, what: str) -> ModelFailed:
    return ModelFailed("model_too_large", f"The answer of {model} is too large: {what}")
