"""The bytes of an answer: events of a stream, or one JSON object.  Sans-IO.

All JSON is ASCII, so that a line separator inside a text cannot be taken for the end of an event by any reader.
A stream is: `opening` (the role), one `text` (or `thought`, or `call`) for each piece, `closing` (the finish reason, the
usage if it was asked for, `[DONE]`), or at any point `failure` and nothing after it.
"""

import json
import time
import uuid
from collections.abc import Mapping, Sequence

from app.api import logprobs
from app.api.pieces import Whole
from app.chat.models import FinishReason, ToolCall, Usage
from app.chat.ports import Likelihood

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment line: says that the server is there, and no client takes it for data."""

_DONE = b"data: [DONE]\n\n"
_CALLED = "tool_calls"
"""The finish reason of an answer that calls tools."""


def encode(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def usage_fields(usage: Usage) -> dict[str, object]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


class CompletionWriter:
    """Writes one completion, as a stream or as a whole; with `log_probabilities` where these were asked for."""

    def __init__(
        self, model: str, *, include_usage: bool = False, log_probabilities: bool = False
    ) -> None:
        self._id = f"chatcmpl-{uuid.uuid4().hex}"
        self._created = int(time.time())
        self._model = model
        self._include_usage = include_usage
        self._log_probabilities = log_probabilities

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def text(self, text: str, likelihoods: Sequence[Likelihood] = ()) -> bytes:
        return self._chunk({"content": text}, likelihoods=likelihoods)

    def thought(self, text: str) -> bytes:
        """More of what the model thinks, in the field that llama-server and vLLM have for it."""
        return self._chunk({"reasoning_content": text})

    def call(self, index: int, call: ToolCall) -> bytes:
        """A call begins."""
        return self._chunk({"tool_calls": [{"index": index, **_call_fields(call)}]})

    def arguments(self, index: int, text: str) -> bytes:
        """More of a call's arguments."""
        return self._chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})

    def closing(self, reason: FinishReason, usage: Usage, *, called: bool = False) -> bytes:
        data = self._chunk({}, finish_reason=_finish(reason, called=called))
        if self._include_usage:
            data += self._event([], usage_fields(usage))
        return data + _DONE

    def failure(self, error: Mapping[str, object]) -> bytes:
        """`error` is a whole error body, `{"error": {...}}`."""
        return b"data: " + encode(error) + b"\n\n"

    def whole(
        self, answer: Whole, reason: FinishReason, usage: Usage, *, called: bool = False
    ) -> bytes:
        """The body of an answer that is not streamed; `called`: it ended with calls, all of them whole."""
        message: dict[str, object] = {"role": "assistant", "content": answer.text}
        if answer.thought:
            message["reasoning_content"] = answer.thought
        if answer.calls:
            message["content"] = answer.text or None
            message["tool_calls"] = [_call_fields(call) for call in answer.calls]
        wanted = self._log_probabilities
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": _finish(reason, called=called),
            "logprobs": logprobs.content(answer.likelihoods) if wanted else None,
        }
        body = self._head("chat.completion") | {"choices": [choice], "usage": usage_fields(usage)}
        return encode(body)

    def _chunk(
        self,
        delta: Mapping[str, object],
        *,
        finish_reason: str | None = None,
        likelihoods: Sequence[Likelihood] = (),
    ) -> bytes:
        choice = {
            "index": 0,
            "delta": delta,
            "finish_reason": finish_reason,
            "logprobs": logprobs.content(likelihoods) if likelihoods else None,
        }
        return self._event([choice], None)

    def _event(self, choices: list[dict[str, object]], usage: Mapping[str, object] | None) -> bytes:
        event = self._head("chat.completion.chunk") | {"choices": choices}
        if self._include_usage:
            event["usage"] = usage
        return b"data: " + encode(event) + b"\n\n"

    def _head(self, kind: str) -> dict[str, object]:
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._model,
        }


def _finish(reason: FinishReason, *, called: bool) -> str:
    return _CALLED if called and reason is FinishReason.STOP else reason.value


def _call_fields(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
