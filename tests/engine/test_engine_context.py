"""How the context is made: one unified pool, flash attention where it is possible, room for as many outputs as sequences."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app import llama
from app.engine.backend import Batch
from app.engine.context import LlamaBackend
from app.engine.model import Model
from app.errors import ModelError
from app.wire import LoadParams


class Unwilling:
    """llama.cpp, as it is where a model or a device has no flash attention: it then makes no context with it."""

    def __init__(self, api: Any, *, refuses: tuple[int, ...]) -> None:
        self._api = api
        self._refuses = refuses
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def llama_init_from_model(self, model: Any, params: Any) -> Any:
        self.asked.append(
            {
                name: getattr(params, name)
                for name in ("kv_unified", "n_outputs_max", "n_seq_max", "flash_attn_type")
            }
        )
        if params.flash_attn_type in self._refuses:
            return None
        return self._api.llama_init_from_model(model, params)


def open_with(api: Any, path: Path, **params: Any) -> tuple[Model, LlamaBackend]:
    load = LoadParams(str(path), pool_tokens=512, sequences=4, batch=64, threads=1, **params)
    model = Model(api, load, llama.NativeLog(api), lambda _: True)
    try:
        return model, LlamaBackend(api, model, load)
    except ModelError:
        model.close()
        raise


def test_flash_attention_is_asked_for_and_the_pool_is_one(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    spy = Unwilling(api, refuses=())
    model, backend = open_with(spy, tiny_files["attention"])
    (asked,) = spy.asked
    assert asked["flash_attn_type"] == api.LLAMA_FLASH_ATTN_TYPE_ENABLED
    assert asked["kv_unified"]
    assert asked["n_outputs_max"] == asked["n_seq_max"] == backend.info.sequences
    assert backend.notes == []
    backend.close()
    model.close()


def test_where_flash_attention_is_refused_it_runs_without_and_says_so(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    spy = Unwilling(api, refuses=(api.LLAMA_FLASH_ATTN_TYPE_ENABLED,))
    model, backend = open_with(spy, tiny_files["attention"])
    assert [asked["flash_attn_type"] for asked in spy.asked] == [
        api.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        api.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    ]
    (note,) = backend.notes
    assert re.search(r"[Ff]lash attention .* without", note)
    tokens = np.arange(1, 9, dtype=np.int32)
    outputs = np.zeros(8, np.int8)
    outputs[-1] = 1
    batch = Batch(tokens, np.arange(8, dtype=np.int32), np.zeros(8, np.int32), outputs)
    assert backend.decode(batch) == 0
    assert len(backend.argmax([0], ban_ends=[False])) == 1
    backend.close()
    model.close()


def test_where_no_context_can_be_made_the_reason_names_the_pool(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    every = (api.LLAMA_FLASH_ATTN_TYPE_ENABLED, api.LLAMA_FLASH_ATTN_TYPE_DISABLED)
    with pytest.raises(ModelError, match="not enough memory for a pool of 512 tokens"):
        open_with(Unwilling(api, refuses=every), tiny_files["attention"])


@pytest.mark.parametrize("kv_type", ["q8_0", "q4_0"])
def test_a_quantised_pool_without_flash_attention_is_refused(
    api: Any, tiny_files: dict[str, Path], kv_type: str
) -> None:
    """A quantised cache needs flash attention: there is nothing to fall back to."""
    spy = Unwilling(api, refuses=(api.LLAMA_FLASH_ATTN_TYPE_ENABLED,))
    with pytest.raises(ModelError, match=kv_type):
        open_with(spy, tiny_files["attention"], kv_type=kv_type)
    assert len(spy.asked) == 1


class Short(Unwilling):
    """llama.cpp where there is memory for pools up to `most` tokens only, and for plain ones if `plain`."""

    def __init__(self, api: Any, *, most: int, plain: bool = False) -> None:
        super().__init__(api, refuses=())
        self._most, self._plain = most, plain
        self.tried: list[tuple[int, bool]] = []

    def llama_init_from_model(self, model: Any, params: Any) -> Any:
        compressed = params.type_k != self._api.GGML_TYPE_F16
        self.tried.append((params.n_ctx, compressed))
        if params.n_ctx > self._most or (compressed and self._plain):
            return None
        return super().llama_init_from_model(model, params)


def open_pool(
    api: Any, path: Path, pool: int, kv_type: str = "f16", *, yielding: bool
) -> tuple[Model, LlamaBackend]:
    load = LoadParams(str(path), pool, 4, 64, threads=1, kv_type=kv_type, yielding=yielding)
    model = Model(api, load, llama.NativeLog(api), lambda _: True)
    try:
        return model, LlamaBackend(api, model, load)
    except ModelError:
        model.close()
        raise


def test_a_pool_that_nobody_asked_for_gets_smaller_until_it_fits(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    spy = Short(api, most=3000)
    model, backend = open_pool(spy, tiny_files["attention"], 8192, yielding=True)
    assert (backend.info.cells, backend.params.pool_tokens) == (2048, 2048)
    assert backend.notes == [
        "There was not enough memory for a pool of 8,192 tokens; it has 2,048."
    ]
    backend.close()
    model.close()


def test_a_pool_that_was_asked_for_is_refused_as_it_is(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    spy = Short(api, most=3000)
    with pytest.raises(ModelError, match="pool of 8,192 tokens"):
        open_pool(spy, tiny_files["attention"], 8192, yielding=False)
    assert {pool for pool, _ in spy.tried} == {8192}


def test_a_model_that_cannot_be_compressed_gets_a_plain_pool(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    spy = Short(api, most=8192, plain=True)
    model, backend = open_pool(spy, tiny_files["attention"], 1024, "q8_0", yielding=True)
    assert spy.tried == [(1024, True), (1024, False)]
    assert backend.params.kv_type == "f16"
    assert backend.notes == ["This model cannot be used with a compressed pool; it has f16."]
    backend.close()
    model.close()


def test_where_nothing_helps_the_pool_that_was_wanted_is_named(
    api: Any, tiny_files: dict[str, Path]
) -> None:
    spy = Short(api, most=100)
    with pytest.raises(ModelError, match="pool of 4,096 tokens"):
        open_pool(spy, tiny_files["attention"], 4096, "q8_0", yielding=True)
    assert {pool for pool, _ in spy.tried} == {4096, 2048, 1024, 512}
