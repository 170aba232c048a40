"""What llama.cpp takes for a model of which there is only the head, and for a model file, by what it tells of itself.

A model of a head has no weights, so that one of any size is loaded in a moment; its pool and its buffers are laid out as
those of the whole model are (`no_alloc`: by llama.cpp's own allocator, without memory behind them).
"""

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.llama import NativeLog
from app.settings import KvType
from app.sizing.footprint import Footprint

MEGABYTE = 1 << 20

_POOL = re.compile(r"(?:llama_kv_cache|llama_memory_recurrent): +size = +([\d.]+) MiB")
_BUFFERS = re.compile(r"(?:compute|output) +buffer size = +([\d.]+) MiB")
_KV_TYPES = {"f16": "GGML_TYPE_F16", "q8_0": "GGML_TYPE_Q8_0", "q4_0": "GGML_TYPE_Q4_0"}


@dataclass(frozen=True)
class Setting:
    """How a model is loaded: `pool` and `batch` are tokens, `sequences` decode at once."""

    pool: int
    sequences: int
    batch: int
    kv_type: KvType


@dataclass(frozen=True)
class Taken:
    """MiB of the chats' memory, and of what a step needs besides."""

    pool: float
    buffers: float


_FILL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _HeadOnly(ctypes.Structure):
    """`gguf_init_params`."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


class Allocator:
    """Asks llama.cpp, with the parameters that the engine's context has."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._lines: list[str] = []
        self._listener = api.llama_log_callback(
            lambda _level, text, _data: self._lines.append(text.decode("utf-8", "replace"))
        )
        self._leave = _FILL(lambda _tensor, _data: None)

    @contextmanager
    def model(self, head: Path, *, simulated: bool = True) -> Iterator[Any]:
        """The model of this head; where not `simulated`, with memory behind it."""
        self._api.llama_log_set(self._listener, ctypes.c_void_p(0))
        library = self._api._lib
        read, free = library.gguf_init_from_file, library.gguf_free
        read.argtypes, read.restype = [ctypes.c_char_p, _HeadOnly], ctypes.c_void_p
        free.argtypes = [ctypes.c_void_p]
        make, params = library.llama_model_init_from_user, self._api.llama_model_default_params()
        make.argtypes = [ctypes.c_void_p, _FILL, ctypes.c_void_p, type(params)]
        make.restype = self._api.llama_model_p_ctypes
        params.no_alloc = simulated
        # Of a machine with a graphics card too, the processor's.
        no_devices = (ctypes.c_void_p * 1)(None)
        params.devices = ctypes.addressof(no_devices)
        facts = read(str(head).encode(), _HeadOnly(True, None))
        model = make(facts, self._leave, None, params)
        free(facts)
        try:
            assert model, "".join(self._lines[-5:])
            yield model
            self._api.llama_model_free(model)
        finally:
            NativeLog(self._api)  # llama.cpp may speak again when this listener is gone

    def taken(self, model: Any, footprint: Footprint, setting: Setting) -> Taken:
        """For a context of this model."""
        api = self._api
        params = api.llama_context_default_params()
        params.n_ctx, params.n_batch = setting.pool, setting.batch
        params.n_ubatch = footprint.at_once(setting.batch)
        params.n_seq_max = params.n_outputs_max = footprint.ids(setting.sequences)
        params.kv_unified, params.swa_full = True, False
        params.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.type_k = params.type_v = getattr(api, _KV_TYPES[setting.kv_type])
        self._lines.clear()
        context = api.llama_init_from_model(model, params)
        text = "".join(self._lines)
        assert context, text[-1000:]
        api.llama_free(context)
        pool, buffers = (sum(map(float, told.findall(text))) for told in (_POOL, _BUFFERS))
        return Taken(round(pool, 2), round(buffers, 2))
