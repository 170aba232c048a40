"""Tiny real models behind the engine."""

import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app import llama
from app.engine.context import LlamaBackend
from app.engine.core import Engine
from app.engine.decode_log import LoggedBackend
from app.engine.model import Model
from app.engine.state_files import StateFiles
from app.wire import LoadParams, Step
from tests import tiny_models


@pytest.fixture(scope="session")
def api() -> Any:
    return llama.load()


@pytest.fixture(scope="session")
def tiny_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each kind of memory, and one with a mixture of experts."""
    folder = tmp_path_factory.mktemp("tiny")
    files = {}
    for name, write in {**tiny_models.KINDS, "experts": tiny_models.experts}.items():
        files[name] = folder / f"{name}.gguf"
        write(files[name])
    return files


@dataclass
class Rig:
    """An engine on a real model, with its decode log and every step it told."""

    backend: LlamaBackend
    engine: Engine
    log: io.StringIO
    steps: list[Step] = field(default_factory=list)

    def step(self) -> Step:
        step = self.engine.step()
        self.steps.append(step)
        self.engine.check()
        return step

    def run(self, bound: int = 3000) -> None:
        for _ in range(bound):
            if not self.engine.has_work:
                return
            self.step()
        raise AssertionError(f"work is left after {bound} steps")

    def tokens(self, request_id: int) -> list[int]:
        return [
            out.token for step in self.steps for out in step.tokens if out.request_id == request_id
        ]

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


class Keeper(io.StringIO):
    """A log that stays readable after the backend closed it."""

    def close(self) -> None:
        pass


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(api: Any) -> Iterator[MakeRig]:
    """Make an engine on a model file; freed at the end of the test."""
    opened: list[tuple[Model, LlamaBackend]] = []
    native_log = llama.NativeLog(api)

    def make(
        path: Path,
        *,
        most_running: int = 4,
        spill_bytes: int = 0,
        files: StateFiles | None = None,
        clock: Callable[[], float] = time.perf_counter,
        **params: Any,
    ) -> Rig:
        settings = {"pool_tokens": 1024, "sequences": most_running, "batch": 128, "threads": 1}
        load = LoadParams(str(path), **{**settings, **params})
        model = Model(api, load, native_log, lambda fraction: True)
        backend = LlamaBackend(api, model, load)
        opened.append((model, backend))
        log = Keeper()
        engine = Engine(
            LoggedBackend(backend, log),
            most_running=most_running,
            clock=clock,
            new_seed=lambda: 5,
            spill_bytes=spill_bytes,
            files=files,
        )
        return Rig(backend, engine, log)

    yield make
    for model, backend in opened:
        backend.close()
        model.close()
