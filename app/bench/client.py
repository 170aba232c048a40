"""A lean streaming client for an OpenAI-compatible chat endpoint on loopback.

It does only what the benchmarks need, so that it costs the measured machine little.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

Messages = list[dict[str, str]]


@dataclass(slots=True)
class Answer:
    """One request as its client saw it; times are `time.perf_counter` seconds."""

    asked: int
    began: float
    times: list[float] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    written: int = 0
    prompt: int = 0
    cached: int = 0
    finish: str = ""
    error: str = ""

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def whole(self) -> bool:
        """Whether it has exactly the length that was asked for; nothing else counts as an answer."""
        return not self.error and self.finish == "length" and self.written == self.asked

    @property
    def first(self) -> float:
        """Seconds to the first text."""
        return self.times[0] - self.began if self.times else float("inf")

    @property
    def gaps(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


@dataclass(frozen=True, slots=True)
class Client:
    """Asks one server."""

    host: str
    port: int

    async def ask(self, messages: Messages, tokens: int) -> Answer:
        """A greedy answer of exactly `tokens` tokens, streamed."""
        body = json.dumps(
            {
                "model": "default",
                "messages": messages,
                "max_tokens": tokens,
                "temperature": 0,
                "stream": True,
                "ignore_eos": True,
                "stream_options": {"include_usage": True},
            }
        ).encode()
        answer = Answer(tokens, time.perf_counter())
        reader, writer = await asyncio.open_connection(self.host, self.port)
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        try:
            await writer.drain()
            await _read(reader, answer)
        except OSError as error:
            answer.error = str(error)
        finally:
            writer.close()
        return answer


async def _read(reader: asyncio.StreamReader, answer: Answer) -> None:
    status = (await reader.readline()).split()
    while (await reader.readline()).strip():
        pass
    if len(status) < 2 or status[1] != b"200":
        rest = await reader.read(2000)
        answer.error = rest.decode("utf-8", "replace")[:300] or "no answer"
        return
    # Chunked transfer puts lengths on lines of their own; only the data lines matter here.
    while line := await reader.readline():
        if line.startswith(b"data: {"):
            _take(json.loads(line[6:]), answer)


def _take(event: dict[str, Any], answer: Answer) -> None:
    if "error" in event:
        answer.error = str(event["error"])[:300]
    usage = event.get("usage")
    if usage:
        answer.written = usage.get("completion_tokens", 0)
        answer.prompt = usage.get("prompt_tokens", 0)
        answer.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    for choice in event.get("choices", ()):
        answer.finish = choice.get("finish_reason") or answer.finish
        text = (choice.get("delta") or {}).get("content")
        if text:
            answer.times.append(time.perf_counter())
            answer.parts.append(text)
