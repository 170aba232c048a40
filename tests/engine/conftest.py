"""Tiny real models behind the engine."""

import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app import llama
from app.engine.backend import Batch
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
    folder = tmp_path_factory.mktemp("tiny")
    files = {}
    for name, write in tiny_models.KINDS.items():
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
        **params: Any,
    ) -> Rig:
        settings = {"pool_tokens": 1024, "sequences": most_running, "batch": 128, "threads": 2}
        load = LoadParams(str(path), **{**settings, **params})
        model = Model(api, load, native_log, lambda fraction: True)
        backend = LlamaBackend(api, model, load)
        opened.append((model, backend))
        log = Keeper()
        engine = Engine(
            LoggedBackend(backend, log),
            most_running=most_running,
            clock=time.perf_counter,
            new_seed=lambda: 5,
            spill_bytes=spill_bytes,
            files=files,
        )
        return Rig(backend, engine, log)

    yield make
    for model, backend in opened:
        backend.close()
        model.close()


def replay(
    backend: LlamaBackend,
    records: list[dict[str, Any]],
    rewrite: Callable[[int, npt.NDArray[np.int32]], npt.NDArray[np.int32]] = lambda _, tokens: (
        tokens
    ),
) -> list[tuple[int, int, npt.NDArray[np.float32]]]:
    """Do again what a decode log tells; gives (sequence id, position, logits) of every output.

    `rewrite(call, tokens)` may put other tokens in place of those of a decode call.
    """
    found = []
    saved: dict[str, bytes] = {}
    for number, record in enumerate(records):
        if "save_tip" in record:
            saved[record["name"]] = backend.save_tip(record["save_tip"]) or b""
        elif "load_tip" in record:
            assert backend.load_tip(record["load_tip"], saved[record["name"]]) == record["done"]
        elif "save" in record:
            saved[record["name"]] = backend.save(record["save"]) or b""
        elif "restore" in record:
            assert backend.restore(record["restore"], saved[record["name"]]) == record["done"]
        elif "remove" in record:
            backend.remove(*record["remove"])
        elif "copy" in record:
            backend.copy(*record["copy"])
        else:
            call = {name: np.array(values) for name, values in record["decode"].items()}
            tokens = rewrite(number, call["tokens"].astype(np.int32))
            batch = Batch(
                tokens,
                call["positions"].astype(np.int32),
                call["sequences"].astype(np.int32),
                call["outputs"].astype(np.int8),
            )
            assert backend.decode(batch) == record["result"]
            for index, row in enumerate(np.flatnonzero(batch.outputs)):
                place = (int(batch.sequences[row]), int(batch.positions[row]))
                found.append((*place, backend.logits_of(index)))
    return found
