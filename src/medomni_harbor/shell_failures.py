"""What goes wrong between the shell agent and its model, told apart by whose fault it is.

`ModelUnreachableError` and `ModelUnusableError` are nobody's answer: the endpoint, the key or the network
failed, and Bench runs the atom again. `ModelRequestError` is the agent's own failure. The other two end a
conversation that went as far as it could.

Leaves to others: what becomes of it (`medomni.bench.trials` knows the names), the client (`shell_model`).

Source: the error objects of the Chat Completions protocol as OpenAI documents it: HTTP status, `error.code`,
`error.type`.
"""

from __future__ import annotations

from dataclasses import dataclass


class ModelError(Exception):
    """Something went wrong between the agent and its model."""


class ModelUnreachableError(ModelError):
    """The endpoint cannot be reached, is overloaded or broken: it may be better later."""


class ModelUnusableError(ModelError):
    """The endpoint answers, but not to this key, model or form of request: the settings must be mended."""


class ModelRequestError(ModelError):
    """The endpoint takes the agent's requests as such, and not this one."""


class ContextFullError(ModelError):
    """The conversation no longer fits into the model's context."""


class ContentRefusedError(ModelError):
    """The endpoint's filter refuses what was said."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How an endpoint refused.

    Attributes:
        status: The HTTP status; None where there was no answer.
        code: `error.code` or `error.type`; empty where there is none.
        message: What it said.
    """

    status: int | None
    code: str
    message: str


_OVERLOADED = frozenset({408, 409, 425, 429})
_NOT_ALLOWED = frozenset({401, 402, 403, 404, 405, 407})
_CONTEXT_CODES = frozenset(
    {"context_length_exceeded", "context_window_exceeded", "model_max_prompt_tokens_exceeded"}
)
# Servers of open models have no code for it, and each its own words.
_CONTEXT_WORDS = ("context length", "context window", "maximum context", "context size", "prompt is too long")
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})


def classify(refusal: Refusal, *, first: bool) -> ModelError:
    """The error that a refusal is.

    Args:
        refusal: How the endpoint refused.
        first: Whether nothing was asked before: what is wrong with every first request is wrong with the
            settings, and not with what the model did.
    """
    status, said = refusal.status, _told(refusal)
    if status is None or status >= 500 or status in _OVERLOADED:
        return ModelUnreachableError(f"the model's endpoint fails: {said}")
    if status in _NOT_ALLOWED:
        return ModelUnusableError(f"the model's endpoint refuses this key, model or address: {said}")
    words = refusal.message.lower()
    if refusal.code in _CONTEXT_CODES or status == 413 or any(each in words for each in _CONTEXT_WORDS):
        return ContextFullError(f"the conversation no longer fits: {said}")
    if refusal.code in _FILTER_CODES:
        return ContentRefusedError(f"the endpoint's filter refuses: {said}")
    if first:
        return ModelUnusableError(f"the model's endpoint does not take the agent's requests: {said}")
    return ModelRequestError(f"the model's endpoint does not take this request: {said}")


def _told(refusal: Refusal) -> str:
    parts = [f"HTTP {refusal.status}" if refusal.status is not None else "", refusal.code, refusal.message]
    return " ".join(each for each in parts if each)[:1000]
