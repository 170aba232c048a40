"""Case 25: characters that are cut into several tokens, in four tabs and four API streams at once."""

import asyncio
from collections.abc import Callable

import pytest
from PySide6.QtGui import QTextLayout

from tests.api.harness import Api, Stream, read_stream
from tests.cases.whole import answers, open_tabs, over, put, scripted, served, settings
from tests.gui.desk import Desk
from tests.scripted_children import Script

pytestmark = pytest.mark.slow

TEXT = "你发龍 é e\u0301 😀 👨‍👩‍👧‍👦 🇫🇷 ガ نص עברית"
BYTES = TEXT.encode()
ONE = tuple(BYTES[at : at + 1] for at in range(len(BYTES)))
TWO = (BYTES[:1], *(BYTES[at : at + 2] for at in range(1, len(BYTES), 2)))
STREAMS = 4


async def stream(api: Api) -> Stream:
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
    reply = await api.post(body)
    assert reply.status == 200
    return read_stream(reply.body)  # strict: UTF-8, one JSON object for each `data:` line


@pytest.mark.parametrize("pieces", [ONE, TWO], ids=["one byte", "two bytes"])
def test_no_character_is_broken(pieces: tuple[bytes, ...], at_work: Callable[..., None]) -> None:
    assert b"".join(pieces) == BYTES

    async def scenario(desk: Desk, model: object) -> None:
        pages = await open_tabs(desk, STREAMS)
        shown: list[str] = []

        def look() -> None:
            shown.extend(page.transcript.plain_text() for page in pages)

        unsubscribe = desk.chat.subscribe(lambda _: look())
        async with served(model) as api:  # type: ignore[arg-type]
            streams = asyncio.gather(*(stream(api) for _ in range(STREAMS)))
            for page in pages:
                put(page, "x")
            await over(desk, *pages)
            for told in await streams:
                assert told.text == TEXT
                assert "\ufffd" not in "".join(told.events)
        look()
        unsubscribe()
        assert not any("\ufffd" in text for text in shown), "also while it streamed"
        assert len(set(shown)) > len(TEXT) // 2
        for page in pages:
            assert TEXT in page.transcript.plain_text()
            (answer,) = await answers(desk, page)
            assert answer.text == TEXT
            assert answer.usage.completion_tokens == len(pieces)

    at_work(scenario, scripted(Script(pieces=pieces)), current=settings(max_answer_tokens=0))


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "e\u0301"])
def test_a_cluster_is_one_step_for_the_cursor(qapp: object, cluster: str) -> None:
    layout = QTextLayout(f"a{cluster}b")
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    assert layout.nextCursorPosition(1) == 1 + len(cluster.encode("utf-16-le")) // 2
