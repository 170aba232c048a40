"""Four tabs answer together out of one decode batch, in the real program with the real model on a real screen."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from app.sampling import Sampling
from app.settings import Settings, save
from tests.e2e.conftest import run_driver
from tests.processes import processes_of

pytestmark = [pytest.mark.model, pytest.mark.slow]

STEPS = 40


def rows_of(record: dict) -> int:
    """Decode rows of a call: sequences with exactly one token, whose next one is wanted."""
    call = record["decode"]
    counts = {sequence: call["sequences"].count(sequence) for sequence in set(call["sequences"])}
    wanted = {s for s, flag in zip(call["sequences"], call["outputs"], strict=True) if flag}
    return sum(counts[sequence] == 1 for sequence in wanted)


def test_four_tabs_share_every_decode_step(display: str, tmp_path: Path, starter: Path) -> None:
    (tmp_path / "data").mkdir()
    settings = Settings(sampling=Sampling(temperature=0), max_answer_tokens=160)
    save(settings, tmp_path / "data" / "settings.json")
    done = run_driver("four_tabs", display, tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert set(told["grew"]) == {0, 1, 2, 3}
    # Where a widget is freed on another thread, the program ends.
    assert set(told["searched on"]) <= {"MainThread"}
    # In turn: once the fourth has begun, no text grows for long while another stands still.
    together = told["grew"][told["grew"].index(3) :]
    assert max(len(list(run)) for _, run in groupby(together)) <= 4

    lines = (tmp_path / "decode.jsonl").read_text().splitlines()
    calls = [record for record in map(json.loads, lines) if "decode" in record]
    rows = [rows_of(record) for record in calls]
    first = rows.index(4)
    last = len(rows) - 1 - rows[::-1].index(4)
    span = rows[first : last + 1]
    assert len(span) >= STEPS
    assert set(span) == {4}

    left = processes_of(tmp_path / "data")
    assert not left, f"processes left behind: {left}"
