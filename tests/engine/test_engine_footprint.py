"""What the app expects a model to take, and what llama.cpp really takes for it."""

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.engine.context import LlamaBackend
from app.engine.model import Model
from app.llama import NativeLog
from app.settings import KvType
from app.sizing.footprint import read_footprint
from app.wire import LoadParams
from tests import tiny_models

MEGABYTE = 1 << 20
_POOL = re.compile(r"(?:KV|RS) buffer size *= *([\d.]+) MiB")
_MAPPED = re.compile(r"Mapped model buffer size *= *([\d.]+) MiB")
_BUFFERS = re.compile(r"(?:compute|output) *buffer size *= *([\d.]+) MiB")


@pytest.fixture(scope="module")
def native_log(api: Any) -> Iterator[list[str]]:
    """What llama.cpp says of itself."""
    lines: list[str] = []
    callback = api.llama_log_callback(
        lambda _level, text, _data: lines.append(text.decode("utf-8", "replace"))
    )
    api.llama_log_set(callback, ctypes.c_void_p(0))
    yield lines
    NativeLog(api)


def taken(
    api: Any, path: Path, lines: list[str], params: LoadParams
) -> tuple[float, float, LlamaBackend]:
    """MiB of the pool and of the buffers."""
    lines.clear()
    model = Model(api, params, QuietLog(), lambda _: True)  # type: ignore[arg-type]
    backend = LlamaBackend(api, model, params)
    text = "".join(lines)
    backend.close()
    model.close()
    pool, buffers = (sum(map(float, pattern.findall(text))) for pattern in (_POOL, _BUFFERS))
    return pool, buffers, backend


class QuietLog:
    reason = ""

    def clear(self) -> None:
        pass


@pytest.mark.parametrize(
    ("pool", "sequences", "batch", "kv_type"),
    [
        (1024, 2, 64, "q8_0"),
        (4096, 4, 512, "f16"),
        (16_384, 8, 128, "q4_0"),
        (20_000, 8, 512, "f16"),
    ],
)
@pytest.mark.parametrize("kind", [*tiny_models.KINDS, "experts"])
def test_the_pool_and_the_buffers_take_what_was_foreseen(
    api: Any,
    tiny_files: dict[str, Path],
    native_log: list[str],
    kind: str,
    pool: int,
    sequences: int,
    batch: int,
    kv_type: KvType,
) -> None:
    path = tiny_files[kind]
    foreseen = read_footprint(path)
    params = LoadParams(str(path), pool, sequences, batch, threads=1, kv_type=kv_type)
    cells, buffers, backend = taken(api, path, native_log, params)
    assert backend.info.sequences == foreseen.ids(sequences)
    # llama.cpp tells each buffer with two digits.
    assert cells == pytest.approx(
        foreseen.pool_bytes(pool, sequences, batch, kv_type) / MEGABYTE, abs=0.02
    )
    assert buffers == pytest.approx(
        foreseen.buffer_bytes(pool, sequences, batch) / MEGABYTE, rel=0.2, abs=0.1
    )


@pytest.mark.model
@pytest.mark.slow
def test_the_starter_model_takes_what_was_foreseen(
    api: Any, starter: Path, native_log: list[str]
) -> None:
    foreseen = read_footprint(starter)
    assert (foreseen.context, foreseen.vocabulary) == (8192, 49_152)
    params = LoadParams(str(starter), 4096, 4, 512, threads=1)
    cells, buffers, _ = taken(api, starter, native_log, params)
    (mapped,) = map(float, _MAPPED.findall("".join(native_log)))
    assert mapped == pytest.approx(foreseen.weights / MEGABYTE, rel=0.05)
    assert cells == foreseen.pool_bytes(4096, 4, 512, "f16") / MEGABYTE == 90
    assert buffers == pytest.approx(foreseen.buffer_bytes(4096, 4, 512) / MEGABYTE, rel=0.05)
