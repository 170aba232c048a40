"""The process is killed at any moment: what was shown is there at the next start."""

import asyncio
import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.chat.models import Message, Role, Status
from app.store.conversations import open_store
from app.store.database import Database
from app.store.migrations import STEPS
from tests.crash.store_child import CHATS, FINISHED_TURNS, LONG, NEWER, fill

ROOT = Path(__file__).parents[2]
SCRIPT = "".join(piece.text for piece in LONG)
EVERY = [pytest.param(seed, marks=[] if seed < 5 else pytest.mark.soak) for seed in range(50)]
pytestmark = pytest.mark.crash


@dataclass
class Shown:
    """What the killed process had said."""

    users: dict[int, str] = field(default_factory=dict)
    finished: dict[int, str] = field(default_factory=dict)
    text: dict[int, str] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)

    def hear(self, line: str) -> None:
        what, *rest = json.loads(line)
        if what == "user":
            self.users[rest[0]] = rest[1]
        elif what == "finished":
            self.finished[rest[0]] = rest[1]
        elif what == "text":
            self.text[rest[0]] = self.text.get(rest[0], "") + rest[1]
        elif what == "checkpoint":
            self.kept[rest[0]] = rest[1]


def killed_after(mode: str, path: Path, first: str, lines: int) -> list[str]:
    """Run the child, kill it `lines` lines after the line `first`; all that it said."""
    command = [sys.executable, "-m", "tests.crash.store_child", mode, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        assert child.stdout is not None
        said: list[str] = []
        left = lines
        seen = False
        for line in child.stdout:
            said.append(line)
            seen = seen or json.loads(line)[0] == first
            left -= seen
            if left < 0:
                break
        child.kill()
        said += child.stdout.readlines()
    # The last line may be torn when the pipe was full.
    return [line for line in said if line.endswith("\n")]


def integrity(path: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall()


async def everything(path: Path) -> tuple[tuple[str, ...], list[Message]]:
    store = await open_store(path)
    found = [
        message for chat in await store.conversations() for message in await store.messages(chat.id)
    ]
    await store.close()
    return store.problems, found


@pytest.mark.slow
@pytest.mark.parametrize("seed", EVERY)
def test_kill_while_five_chats_stream(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "chats.db"
    # Every fifth round right after a Send, the others anywhere in the answers.
    lines = (
        random.Random(seed).randrange(12) if seed % 5 == 0 else random.Random(seed).randrange(6000)
    )
    shown = Shown()
    for line in killed_after("stream", path, "streaming", lines):
        shown.hear(line)
    problems, messages = asyncio.run(everything(path))
    assert problems == ()
    assert integrity(path) == [("ok",)]
    stored = {message.id: message for message in messages}
    assert len(shown.finished) >= CHATS * FINISHED_TURNS
    for number, text in shown.users.items():
        assert stored[number].text == text
    for number, text in shown.finished.items():
        assert (stored[number].text, stored[number].status) == (text, Status.DONE)
    running = [
        message
        for message in messages
        if message.role is Role.ASSISTANT and message.id not in shown.finished
    ]
    assert lines < 100 or running
    assert lines < 3000 or shown.kept
    for message in running:
        if message.status is not Status.DONE:  # finished, and killed before it could say so
            assert message.status is Status.INTERRUPTED
            assert SCRIPT.startswith(message.text)
            assert len(message.text) >= shown.kept.get(message.id, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed < 3 else pytest.mark.soak) for seed in range(20)]
)
def test_kill_during_an_update(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "chats.db"
    asyncio.run(fill(path, 1000))
    said = killed_after("update", path, "opening", random.Random(seed).randrange(54))
    assert all(json.loads(line)[0] != "closed" for line in said)
    assert integrity(path) == [("ok",)]
    backup = path.with_name(f"chats.v{len(STEPS)}.backup.db")
    if any(json.loads(line)[0] == "updated" for line in said):
        with closing(sqlite3.connect(backup)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
            assert connection.execute("SELECT count(*) FROM messages").fetchone() == (1000,)

    async def again() -> list[tuple[str, int]]:
        database = Database(path)
        await database.open(NEWER)
        assert database.problems == ()
        found = await database.read(
            lambda db: db.execute("SELECT text, words FROM messages ORDER BY id").fetchall()
        )
        await database.close()
        return found

    assert asyncio.run(again()) == [
        (f"message {number}", len(f"message {number}")) for number in range(1000)
    ]
    assert integrity(path) == [("ok",)]
