"""The benchmark's own arithmetic, and its client against a real socket."""

import asyncio
import json

import pytest

from app.bench.client import Answer, Client
from app.bench.report import figures, medians, quantile, table
from app.bench.workloads import Outcome, parse


def answer(
    times: list[float], *, asked: int = 3, written: int = 3, finish: str = "length"
) -> Answer:
    made = Answer(asked, 0.0)
    made.times = times
    made.written, made.finish, made.prompt, made.cached = written, finish, 10, 4
    return made


def test_only_whole_answers_count() -> None:
    outcome = Outcome((answer([1, 2, 4]), answer([1, 2], written=2, finish="stop")), 4.0)
    got = figures(outcome)
    assert (got.whole, got.failed, got.tokens_per_second) == (1, 1, 0.75)
    assert (got.gap_max, got.first_p50, got.prompt, got.cached) == (2, 1, 10, 4)


def test_the_gap_while_a_long_prompt_is_read() -> None:
    late = answer([12.0, 13.0], asked=2, written=2)
    late.began = 5.0
    streams = (answer([1, 2, 3]), answer([4.0, 9.0, 20.0]))
    got = figures(Outcome(streams, 20.0, late))
    assert (got.late_first, got.late_gap_max) == (7.0, 11.0)


def test_quantiles_and_medians() -> None:
    assert quantile([], 0.5) == 0
    assert quantile([3, 1, 2], 0.5) == 2
    runs = [figures(Outcome((answer([1, 2, n]),), 4.0)) for n in (3, 4, 8)]
    assert medians(runs)["gap_max"] == 2


def test_the_table_has_a_row_for_each_server() -> None:
    row = medians([figures(Outcome((answer([1, 2, 4]),), 4.0))])
    lines = table({"decode:1": {"tutti": row, "llama-server": row}}).splitlines()
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize(
    "name", ["walk:1", "decode", "decode:0", "decode:x", "prefix:8", "decode:1:2"]
)
def test_wrong_workload_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name.split(":", maxsplit=1)[0]):
        parse(name)


def test_the_client_reads_a_stream() -> None:
    events = [
        {"choices": [{"delta": {"role": "assistant"}, "finish_reason": None}]},
        {"choices": [{"delta": {"content": "a"}, "finish_reason": None}]},
        {"choices": [{"delta": {"content": "b"}, "finish_reason": None}]},
        {"choices": [{"delta": {}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"completion_tokens": 2, "prompt_tokens": 5}},
    ]
    asked: list[dict[str, object]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        asked.append(json.loads(await reader.readexactly(length)))
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body.encode())
        writer.close()

    async def main() -> Answer:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            return await Client("127.0.0.1", port).ask([{"role": "user", "content": "x"}], 2)

    got = asyncio.run(main())
    assert (got.text, got.whole, got.prompt) == ("ab", True, 5)
    assert asked[0]["ignore_eos"] is True
