"""A chat that is deleted while one of its requests waits, is read, writes or was put back: nothing of it is left."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.engine.backend import MemoryKind
from app.engine.fake import FakeBackend
from app.wire import FinishReason, Priority, Submit
from tests.engine_run import Run, finish, make_run, request

CHAT = 7
LENGTH = 60


def asked(limit: int = 30) -> Submit:
    return replace(request(CHAT, (5, 6, 7) * (LENGTH // 3), limit), owner=CHAT)


def waits(run: Run) -> None:
    run.engine.submit(asked())


def is_read(run: Run) -> None:
    run.engine.submit(asked())
    run.step()
    assert run.steps[-1].counters.reading == 1


def is_read_beforehand(run: Run) -> None:
    run.engine.submit(replace(asked(0), priority=Priority.BACKGROUND))
    run.step()
    assert run.steps[-1].counters.reading == 1


def writes(run: Run) -> None:
    run.engine.submit(asked())
    while not run.tokens.get(CHAT):
        run.step()


def is_put_back(run: Run) -> None:
    writes(run)
    run.engine.submit(replace(request(1, (9,) * 90, 12), priority=Priority.FRONT))
    run.step()
    assert run.engine._sequences[CHAT].slot is None


@pytest.mark.parametrize("kind", list(MemoryKind))
@pytest.mark.parametrize("when", [waits, is_read, is_read_beforehand, writes, is_put_back])
@pytest.mark.parametrize("ends", [FinishReason.LENGTH, FinishReason.CANCELLED])
def test_nothing_is_left_of_it_once_its_request_has_ended(
    kind: MemoryKind, when: Callable[[Run], None], ends: FinishReason
) -> None:
    run = make_run(FakeBackend(cells=128, batch=24, kind=kind), spill_bytes=100_000)
    when(run)
    run.engine.forget(CHAT)
    if ends is FinishReason.CANCELLED:
        run.engine.abort(CHAT)
    finish(run)
    assert run.ends[CHAT].reason is ends, "deleting its chat does not end a request"
    pool = run.engine._pool
    texts = [slot.tokens.view.tolist() for slot in pool.slots]
    texts += [blob.tokens.tolist() for blob in pool.states.blobs()]
    assert [text for text in texts if text[:1] == [5]] == []
    assert not run.engine._hit_rate._warm
    assert not run.engine._hit_rate._last.keys() & {CHAT, -CHAT}


@pytest.mark.parametrize("kind", list(MemoryKind))
def test_no_file_is_written_of_a_deleted_chat(kind: MemoryKind) -> None:
    run = make_run(FakeBackend(cells=128, batch=24, kind=kind), spill_bytes=100_000)
    is_put_back(run)
    run.engine.forget(CHAT)
    for _ in range(3):
        run.step()
        assert run.engine._pool.states.unwritten() == []
    finish(run)


def test_who_goes_on_from_it_loses_nothing() -> None:
    run = make_run(FakeBackend(cells=400, batch=24), spill_bytes=100_000)
    writes(run)
    heir = replace(request(8, (*asked().tokens, 9, 9), 60), owner=8)
    run.engine.submit(heir)
    run.step()
    run.engine.forget(CHAT)
    finish(run)
    run.engine.submit(replace(heir, request_id=9, tokens=(*heir.tokens, *run.tokens[8], 4)))
    finish(run)
    assert run.ends[9].usage.cached_tokens == LENGTH + 2 + 60 - 1
