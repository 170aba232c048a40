"""Who writes in a step that has no room for all: by what the user wants, not by what waiting has earned."""

from dataclasses import replace

import pytest

from app.engine.fake import FakeBackend
from app.engine.scheduler import TURN_SECONDS, more_urgent
from app.engine.sequence import PATIENCE, Sequence
from app.wire import Priority, Submit
from tests.engine_run import Run, make_run, request

_LONG = 1500


def asked(number: int, priority: Priority, limit: int = _LONG) -> Submit:
    return replace(request(number, (number + 1, 5), limit=limit), priority=priority)


def writers(run: Run, steps: int) -> list[set[int]]:
    return [{out.request_id for out in run.step().tokens} for _ in range(steps)]


def begun(most: int, *submits: Submit, tick: float = 0.05) -> Run:
    """All of these write."""
    run = make_run(FakeBackend(cells=8000, batch=64), most_running=most, tick=tick)
    for submit in submits:
        run.engine.submit(submit)
        while not run.tokens.get(submit.request_id):
            run.step()
    return run


@pytest.mark.parametrize("chat", [Priority.NORMAL, Priority.FRONT])
def test_background_work_takes_no_turn_from_a_chat(chat: Priority) -> None:
    run = begun(1, asked(0, Priority.BACKGROUND), asked(1, chat))
    assert writers(run, PATIENCE - 10) == [{1}] * (PATIENCE - 10)


def test_background_work_writes_by_turns_once_it_has_waited_its_time() -> None:
    run = begun(1, asked(0, Priority.BACKGROUND), asked(1, Priority.NORMAL))
    turn = int(TURN_SECONDS / 0.05)
    assert {0} in writers(run, PATIENCE + turn)
    assert {1} in writers(run, 2 * turn)


def test_who_waited_long_to_be_read_writes_by_turns_like_the_others() -> None:
    """Else it would write in every step to its end, and the others share what is left, or nothing."""
    run = begun(2, asked(0, Priority.NORMAL), asked(1, Priority.NORMAL), asked(2, Priority.NORMAL))
    for number in (0, 1):
        run.engine._sequences[number].passed = 2 * PATIENCE
    assert any(2 in ids for ids in writers(run, 300))


def test_what_waited_long_is_no_reason_for_a_longer_gap() -> None:
    """Somebody looks at the chat in front, and nobody at a prompt that is merely late."""
    run = begun(4, asked(0, Priority.NORMAL))
    late, front = (
        Sequence(asked(number, priority), number, 0.0, run.engine._sequences[0].sampler)
        for number, priority in ((7, Priority.BACKGROUND), (8, Priority.FRONT))
    )
    late.passed = 5 * PATIENCE
    assert late.level == front.level
    writing = list(run.engine._sequences.values())
    assert more_urgent([front], writing)
    assert not more_urgent([late], writing)
