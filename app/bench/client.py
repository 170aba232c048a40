"""A lean streaming client for an OpenAI-compatible chat endpoint on loopback.

It does only what the benchmarks need, so that it costs the measured machine little.
"""

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Messages = list[dict[str, str]]


@dataclass(slots=True)
class Answer:
    """One request as its client saw it; times are `time.perf_counter` seconds."""

    asked: int
    began: float
    half: asyncio.Event | None = None
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
    def made(self) -> int:
        """Tokens written, also where the server did not say how many."""
        return self.written or len(self.times)

    @property
    def first(self) -> float:
        """Seconds to the first text."""
        return self.times[0] - self.began if self.times else float("inf")

    @property
    def gaps(self) -> list[float]:
        return [later - earlier for earlier, later in pairwise(self.times)]


@dataclass(frozen=True, slots=True)
class Client:
    """Asks one server."""

    host: str
    port: int

    async def ask(
        self, messages: Messages, tokens: int, half: asyncio.Event | None = None
    ) -> Answer:
        """A greedy answer of exactly `tokens` tokens, streamed; `half` is set when half of it is there, or it ended."""
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
        answer = Answer(tokens, time.perf_counter(), half=half)
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
            with contextlib.closing(writer):
                writer.write(head.encode() + body)
                await writer.drain()
                await _read(reader, answer)
        except OSError as error:
            answer.error = str(error)
        finally:
            if half:
                half.set()
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
            if answer.half and len(answer.times) * 2 >= answer.asked:
                answer.half.set()
