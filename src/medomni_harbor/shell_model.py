"""A model behind an endpoint that speaks OpenAI's Chat Completions. Needs the `openai` package.

The client sends one key and nothing else that the environment says of OpenAI: what is meant for one endpoint
is not for another. It asks again by itself where an endpoint is overloaded or does not answer.

Leaves to others: what is said (`shell_loop`).

Source: OpenAI's Chat Completions: `messages`, `tools`, `choices[0].message.tool_calls`, `usage` with
`prompt_tokens` (cached ones included), `prompt_tokens_details.cached_tokens`, `completion_tokens`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import openai
from openai.types.chat import ChatCompletion

from medomni_harbor.shell_failures import (
    ModelError,
    ModelUnreachableError,
    ModelUnusableError,
    Refusal,
    classify,
)
from medomni_harbor.shell_loop import Call, Reply, Usage
from medomni_harbor.shell_words import TOOL, Redactor, whole

# What endpoints tell of a reply and do not take back with it.
_NOT_SENT_BACK = frozenset({"annotations", "audio", "function_call", "refusal"})
_NO_KEY = "none"


class OpenAIChat:
    """A model."""

    def __init__(
        self,
        *,
        base_url: str,
        key: str | None,
        model: str,
        request: Mapping[str, Any],
        request_seconds: float,
        retries: int,
    ) -> None:
        """Describe the model.

        Args:
            base_url: Where it answers, as far as `/v1`.
            key: Its key; None where the endpoint asks for none.
            model: Its name there.
            request: More fields of each request, such as `temperature`.
            request_seconds: How long a reply may take.
            retries: How often an overloaded endpoint is asked again.
        """
        self._model, self._request, self._redact = model, dict(request), Redactor(key)
        self._asked = False
        with _without_ambient():
            self._client = openai.AsyncOpenAI(
                base_url=base_url, api_key=key or _NO_KEY, timeout=request_seconds, max_retries=retries
            )

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def ask(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        """Its reply to a conversation.

        Raises:
            ModelError: It gave none; the message holds no key.
        """
        first, self._asked = not self._asked, True
        try:
            told = await self._client.chat.completions.create(
                model=self._model,
                messages=list(messages),
                tools=[dict(TOOL)],
                extra_body=self._request or None,
            )
        except openai.APIError as failure:
            error = classify(_refusal_of(failure), first=first)
        else:
            return parse_reply(told)
        # Not from the failure, whose request holds the key.
        raise type(error)(self._redact(str(error))) from None


@contextlib.contextmanager
def _without_ambient() -> Iterator[None]:
    """Hide what the environment says to every OpenAI client: organization, headers, other keys."""
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OPENAI_")}
    try:
        yield
    finally:
        os.environ.update(hidden)


def _refusal_of(failure: openai.APIError) -> Refusal:
    status = getattr(failure, "status_code", None)
    code = failure.code or failure.type or ""
    return Refusal(status, str(code), str(failure.message))


def parse_reply(told: Any) -> Reply:
    """A reply as the conversation takes it.

    Args:
        told: What the client gave.

    Raises:
        ModelError: It has not the protocol's form.
    """
    if not isinstance(told, ChatCompletion):
        raise ModelUnusableError(
            "the endpoint does not speak the Chat Completions protocol: its address ends in /v1 as a rule"
        )
    choice = next(iter(told.choices or ()), None)
    if choice is None or choice.message is None:
        raise _no_choice(told)
    message = choice.message.model_dump(exclude_none=True, exclude=set(_NOT_SENT_BACK))
    calls = []
    for each in choice.message.tool_calls or ():
        function = getattr(each, "function", None)
        name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
        calls.append(Call(str(each.id), str(name or ""), arguments if isinstance(arguments, str) else ""))
    content = choice.message.content or ("" if not calls else None)
    message = {**message, "role": "assistant", "content": content}
    if not calls:
        message.pop("tool_calls", None)
    return Reply(whole(message), tuple(calls), _usage_of(told.usage), str(choice.finish_reason or ""))


def _no_choice(told: ChatCompletion) -> ModelError:
    # Some gateways answer 200 and say in the body what failed behind them.
    said = (told.model_extra or {}).get("error")
    return ModelUnreachableError(f"the model's endpoint sent no reply{f': {said}' if said else ''}"[:1000])


def _usage_of(told: Any) -> Usage | None:
    """The usage; None where it is missing or cannot be."""
    details = getattr(told, "prompt_tokens_details", None)
    given = (
        getattr(told, "prompt_tokens", None),
        getattr(details, "cached_tokens", None) or 0,
        getattr(told, "completion_tokens", None),
    )
    if any(not isinstance(each, int) or isinstance(each, bool) or each < 0 for each in given):
        return None
    usage = Usage(*given)  # type: ignore[arg-type]
    return usage if usage.cached <= usage.input else None
