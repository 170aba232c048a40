"""Case 28: stop strings that cross the borders of tokens, from a request to the API to the events of its answer.

A window shows what comes of the same `TextStream`; `tests/property/test_text_stream.py` compares that with a plain search.
"""

import pytest

from app.chat.ports import Text
from app.wire import Abort, FinishReason
from tests.api.harness import read_stream
from tests.cases.whole import served
from tests.played_model import PATH, Made
from tests.scripted_children import begin, run, turns, until

LONG = "ab" * 5_000
LLAMA = tuple(bytes([byte]) for byte in "🦙".encode())

STOPPED: tuple[tuple[tuple[bytes, ...], list[str], str], ...] = (
    ((b"Blue mo", b"on r", b"ises"), ["moon ri"], "Blue "),
    ((b"\nHu", b"man", b":"), ["\nHuman:"], ""),
    ((b"a", b"b", b"c"), ["abc", "ab"], ""),
    ((*LLAMA, b"STOP"), ["🦙STOP"], ""),
    ((b"x", b"ab" * 4_999, b"ab", b"y"), [LONG], "x"),
)


@pytest.mark.parametrize(("pieces", "stop", "text"), STOPPED)
def test_the_answer_ends_before_its_stop_string(
    pieces: tuple[bytes, ...], stop: list[str], text: str
) -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        async with served(made.model) as api:  # type: ignore[arg-type]
            messages = [{"role": "user", "content": "x"}]
            body = {"messages": messages, "stop": stop, "stream": True}
            reply = begin(api.post(body))
            await until(lambda: bool(made.submitted))
            for piece in pieces:
                made.write(piece)
                await turns()
            assert isinstance(made.engine.sent[-1], Abort), "the engine is told at once"
            made.write(b"more", end=FinishReason.CANCELLED)
            stream = read_stream((await reply).body)
        assert stream.text == text
        reasons = [choice["finish_reason"] for each in stream.chunks for choice in each["choices"]]
        assert [reason for reason in reasons if reason] == ["stop"]
        await made.model.close()

    run(scenario())


@pytest.mark.parametrize(
    ("pieces", "stop", "shown"),
    [
        # No text is later than it must be, and none is taken back.
        (("Hello", " wor", "ld #", "# no", " ###", "E"), "###END", "Hello| wor|ld |## no| |###E"),
        (("x", "ab" * 4_999, "y"), LONG, "x|" + "ab" * 4_999 + "y"),
        # That it stands in the question is no reason to stop.
        (("say ", "hi ", "again"), "question", "say |hi |again"),
        (("a", "b"), "", "a|b"),
    ],
)
def test_text_comes_as_soon_as_it_cannot_begin_a_stop_string(
    pieces: tuple[str, ...], stop: str, shown: str
) -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("the question", stop=(stop,))
        for piece in pieces:
            made.write(piece)
            await turns()
        made.write("", end=FinishReason.STOP)
        told = await task
        assert "|".join(event.text for event in told if isinstance(event, Text)) == shown
        await made.model.close()

    run(scenario())


def test_an_empty_stop_string_is_refused_by_the_api() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        async with served(made.model) as api:  # type: ignore[arg-type]
            body = {"messages": [{"role": "user", "content": "x"}], "stop": [""]}
            reply = await api.post(body)
        assert reply.status == 400
        assert reply.error["param"] == "stop[0]"
        assert made.submitted == []
        await made.model.close()

    run(scenario())
