"""Engines in processes of their own, on a tiny model."""

import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.engine import process
from tests import tiny_models
from tests.engine_pipe import WATCHDOG, Main, Spawned


@pytest.fixture
def spawn() -> Iterator[Callable[..., Spawned]]:
    started: list[Spawned] = []

    def start(main: Main = process.main) -> Spawned:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        child = context.Process(target=main, args=(theirs, "engine-test"))
        child.start()
        theirs.close()
        started.append((ours, child))
        return ours, child

    yield start
    for ours, child in started:
        ours.close()
        child.join(WATCHDOG)
        assert child.exitcode is not None, "the engine outlived its pipe"
        child.close()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    tiny_models.attention(path)
    return path
