"""Case 46: the real program is killed while five chats stream; what was shown is there at the next start."""

import json
import os
import random
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app import settings
from app.chat.models import Status
from app.settings import Settings
from tests.cases.app_to_kill import CHATS, FINISHED_TURNS
from tests.cases.whole import GREEDY, PATIENCE
from tests.crash.test_store_kill import integrity
from tests.processes import driver, processes_of

pytestmark = [pytest.mark.crash, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LOST_SECONDS = 2.0
"""What is older was written down."""

ROUNDS = [
    pytest.param(seed, marks=[] if seed in (0, 50) else pytest.mark.soak) for seed in range(60)
]
"""From 50 on the kill comes right after Send."""


def start(mode: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        driver("tests.cases.app_to_kill", mode, *arguments, options=("-X", "faulthandler")),
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        text=True,
    )


@dataclass
class Shown:
    """What the killed program had shown: `texts` of the answers at every tick."""

    users: dict[int, str] = field(default_factory=dict)
    finished: dict[int, str] = field(default_factory=dict)
    ticks: list[tuple[float, dict[int, str]]] = field(default_factory=list)

    def hear(self, what: str, *facts: Any) -> None:
        if what == "user":
            self.users[facts[0]] = facts[1]
        elif what == "finished":
            self.finished[facts[0]] = facts[1]
        elif what == "tick":
            texts = dict(self.ticks[-1][1]) if self.ticks else {}
            for key, text in facts[1].items():
                texts[int(key)] = texts.get(int(key), "") + text
            self.ticks.append((facts[0], texts))

    @property
    def streamed(self) -> float:
        """Seconds from the first tick to the last."""
        return self.ticks[-1][0] - self.ticks[0][0] if self.ticks else 0.0

    def at(self, seconds_before_the_end: float) -> dict[int, str]:
        """The answers as they were shown this long before the last tick."""
        if not self.ticks:
            return {}
        limit = self.ticks[-1][0] - seconds_before_the_end
        return next((texts for when, texts in reversed(self.ticks) if when <= limit), {})


def killed_after(model: Path, lines: int) -> Shown:
    """Run the program and kill it as many lines after all five were asked to stream."""
    shown, streaming, left = Shown(), False, lines
    with start("stream", str(model)) as program:
        assert program.stdout is not None
        for line in program.stdout:
            words = json.loads(line)
            shown.hear(*words)
            streaming = streaming or words[0] == "streaming"
            left -= streaming
            if left < 0:
                break
        assert streaming, "it ended by itself"
        program.kill()
        for line in program.stdout:
            if line.endswith("\n"):  # the last one may be torn
                shown.hear(*json.loads(line))
    return shown


def looked() -> tuple[dict[int, list[list[Any]]], list[str]]:
    """What the next start shows: the messages of each chat, and the answer that was asked for again."""
    with start("look") as program:
        assert program.stdout is not None
        lines = [json.loads(line) for line in program.stdout]
    assert program.returncode == 0
    chats = {words[1]: words[2] for words in lines if words[0] == "chat"}
    return chats, next((words[1:] for words in lines if words[0] == "again"), [])


@pytest.mark.parametrize("seed", ROUNDS)
def test_what_was_shown_is_there(seed: int, private_folders: Path, talker: Path) -> None:
    settings.save(
        Settings(sampling=GREEDY, pool_tokens=65_536, threads=1), settings.settings_path()
    )
    rng = random.Random(seed)
    # Ticks come every 50 ms: up to five seconds into the answers, or while they are being asked for.
    shown = killed_after(talker, rng.randrange(12, 100) if seed < 50 else rng.randrange(CHATS))
    assert len(shown.finished) == CHATS * FINISHED_TURNS

    deadline = time.monotonic() + PATIENCE
    while processes_of(private_folders):
        assert time.monotonic() < deadline, "the children outlive the program"
        time.sleep(0.05)
    assert integrity(private_folders / "chats.db") == [("ok",)]

    chats, again = looked()
    assert len(chats) == CHATS, "all tabs are open again"
    stored = {message[0]: message for chat in chats.values() for message in chat}
    for number, text in (*shown.users.items(), *shown.finished.items()):
        assert stored[number][2] == text
    for number in shown.finished:
        assert stored[number][3] == Status.DONE
    running = {number: m for number, m in stored.items() if m[3] != Status.DONE}
    older, last = shown.at(LOST_SECONDS), shown.at(0)
    assert set(older) <= set(stored)
    if shown.streamed > LOST_SECONDS + 1:
        assert sum(map(len, older.values())) > CHATS * FINISHED_TURNS * 6, (
            "there was something to lose"
        )
    for number, (_, _, text, status, seen) in running.items():
        assert status == Status.INTERRUPTED
        assert "Interrupted" in seen
        assert len(text) >= len(older.get(number, ""))
        known = last.get(number, "")
        common = min(len(known), len(text))
        assert text[:common] == known[:common]
    if running:
        assert again[1] == Status.DONE, "Retry has the answer written"
        assert again[0]
    assert not processes_of(private_folders)
