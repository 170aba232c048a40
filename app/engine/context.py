"""The real backend: one llama.cpp context with one unified KV pool.

Arguments are checked by the engine's plan before they come here; several wrong ones would abort the process.
Flash attention is asked for by name, so that it cannot fall back silently; where it is refused the context is
made without it, and `notes` says so.
"""

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.backend import (
    BackendInfo,
    Batch,
    DecodeResult,
    MemoryKind,
    Past,
    Sampler,
)
from app.engine.likelihood import log_softmax
from app.engine.model import Model
from app.engine.sampling import LlamaSampler
from app.errors import MemoryPart, ModelError, OutOfMemory
from app.sampling import Sampling
from app.wire import LoadParams

MOST_SEQUENCES = 256
"""llama.cpp's own limit (LLAMA_MAX_SEQ)."""

_KEPT = {MemoryKind.ATTENTION: 3, MemoryKind.WINDOW: 3, MemoryKind.RECURRENT: 1}
"""Idle sequence ids for each running one; on a recurrent memory every id costs a whole state."""

_LEAST_POOL = 512
"""Tokens under which a pool that has to be smaller is given up."""

_INTERRUPTED_BY = 128
"""Tokens that a processor evaluates at a time.  An interrupted read keeps what was evaluated before; 128 at a time cost
as much as 512 (SmolLM2, 2 cores: 5.3 and 5.6 s for 512 tokens), 64 cost 7 % more, 32 17 %."""

_KV_TYPES = {"f16": "GGML_TYPE_F16", "q8_0": "GGML_TYPE_Q8_0", "q4_0": "GGML_TYPE_Q4_0"}


class LlamaBackend:
    """A context of `model`; one thread makes every call."""

    def __init__(self, api: Any, model: Model, params: LoadParams) -> None:
        """Raises OutOfMemory for the pool, and ModelError where the model cannot be used like that."""
        self._api = api
        self._model = model
        self.notes: list[str] = []
        ids = _sequence_ids(model.kind, params.sequences)
        self._context, self.params = self._create(params, ids)
        self._memory = api.llama_get_memory(self._context)
        cells = int(api.llama_n_ctx(self._context))
        trained = model.trained_context or cells
        self.info = BackendInfo(
            kind=model.kind,
            cells=cells,
            context=min(cells, int(api.llama_n_ctx_seq(self._context)), trained),
            sequences=ids,
            batch=int(api.llama_n_batch(self._context)),
            ubatch=int(api.llama_n_ubatch(self._context)),
            vocabulary=model.vocabulary,
            end_tokens=model.end_tokens,
        )
        self._arrays = _BatchArrays(api, self.info.batch)
        self.can_interrupt = model.kind is not MemoryKind.RECURRENT
        self._interrupt = _Interrupt(api, self._context) if self.can_interrupt else None
        self._outputs = 0
        self._ends = np.array(self.info.end_tokens, np.intp)

    def decode(self, batch: Batch) -> DecodeResult:
        native = self._arrays.fill(batch)
        self._outputs = int(np.count_nonzero(batch.outputs))
        code = int(self._api.llama_decode(self._context, native))
        if code < 0:
            return DecodeResult.INVALID if code == -1 else DecodeResult.FAILED
        self._api.llama_synchronize(self._context)
        return DecodeResult(code)

    def interrupt(self) -> None:
        if self._interrupt is not None:
            self._interrupt.set(on=True)

    def rearm(self) -> None:
        if self._interrupt is not None:
            self._interrupt.set(on=False)

    def argmax(self, rows: Sequence[int], *, ban_ends: Sequence[bool]) -> list[int]:
        if not rows:
            return []
        logits = self._logits()
        banned = np.array([row for row, ban in zip(rows, ban_ends, strict=True) if ban], np.intp)
        if len(banned):
            logits[np.ix_(banned, self._ends)] = -np.inf
        chosen = logits if len(rows) == len(logits) else logits[list(rows)]
        return [int(token) for token in chosen.argmax(axis=1)]

    def ranked(self, row: int, count: int) -> list[int]:
        logits = self._logits()[row]
        count = min(count, len(logits))
        best = np.argpartition(logits, -count)[-count:]
        return [int(token) for token in best[np.argsort(-logits[best], kind="stable")]]

    def best_of(self, row: int, tokens: Sequence[int]) -> int:
        ids = np.array(tokens, np.intp)
        return int(ids[self._logits()[row][ids].argmax()])

    def piece(self, token: int) -> bytes:
        return self._model.piece(token)

    def log_probabilities(self, output: int) -> npt.NDArray[np.float32]:
        return log_softmax(self._logits()[output])

    def sampler(
        self,
        sampling: Sampling,
        *,
        seed: int,
        ban_ends: bool,
        past: Past,
    ) -> Sampler:
        return LlamaSampler(
            self._api,
            self._context,
            sampling,
            seed,
            self.info.end_tokens if ban_ends else (),
            past,
            self._model.piece,
            vocabulary=self.info.vocabulary,
        )

    def remove(self, sequence: int, start: int, end: int | None) -> bool:
        # -1 is the API's open end, on both sides; a recurrent memory accepts "all" only in that form.
        first = -1 if start == 0 and end is None else start
        last = -1 if end is None else end
        return bool(self._api.llama_memory_seq_rm(self._memory, sequence, first, last))

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        self._api.llama_memory_seq_cp(self._memory, source, target, start, end)

    def span(self, sequence: int) -> tuple[int, int]:
        low = self._api.llama_memory_seq_pos_min(self._memory, sequence)
        return int(low), int(self._api.llama_memory_seq_pos_max(self._memory, sequence))

    def save(self, sequence: int) -> bytes | None:
        return self._read_state(sequence, 0)

    def restore(self, sequence: int, data: bytes) -> bool:
        return self._write_state(sequence, data, 0)

    def save_tip(self, sequence: int) -> bytes | None:
        return self._read_state(sequence, self._api.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)

    def load_tip(self, sequence: int, data: bytes) -> bool:
        return self._write_state(sequence, data, self._api.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)

    def _read_state(self, sequence: int, flags: int) -> bytes | None:
        size = int(self._api.llama_state_seq_get_size_ext(self._context, sequence, flags))
        buffer = (ctypes.c_uint8 * size)()
        written = self._api.llama_state_seq_get_data_ext(
            self._context, buffer, size, sequence, flags
        )
        return bytes(buffer) if written == size and size else None

    def _write_state(self, sequence: int, data: bytes, flags: int) -> bool:
        # Where it lies: a copy of a long chat's state would take as long as llama.cpp does to put it back.
        address = ctypes.cast(ctypes.c_char_p(data), ctypes.POINTER(ctypes.c_uint8))
        taken = self._api.llama_state_seq_set_data_ext(
            self._context, address, len(data), sequence, flags
        )
        if not taken:
            self.remove(sequence, 0, None)
        return bool(taken)

    def logits_of(self, output: int) -> npt.NDArray[np.float32]:
        """A copy of the logits of the output with this index, for tests that compare bit for bit."""
        return np.array(self._logits()[output])

    def close(self) -> None:
        """Free the context (not the model)."""
        if self._context:
            self._api.llama_free(self._context)
            self._context = None

    def _logits(self) -> npt.NDArray[np.float32]:
        pointer = self._api.llama_get_logits(self._context)
        shape = (self._outputs, self.info.vocabulary)
        address = ctypes.cast(pointer, ctypes.c_void_p).value
        if address is None:
            raise RuntimeError("llama.cpp gave no logits for a step that asked for some")
        buffer = (ctypes.c_float * (shape[0] * shape[1])).from_address(address)
        view: npt.NDArray[np.float32] = np.ctypeslib.as_array(buffer).reshape(shape)
        return view

    def _create(self, wanted: LoadParams, ids: int) -> tuple[Any, LoadParams]:
        """The first context that llama.cpp makes, and the parameters that it was made with."""
        log = self._model.log
        log.clear()
        for params, flash in _attempts(wanted):
            native = _context_params(self._api, params, ids)
            native.n_ubatch = _ubatch(self._api, self._model.kind, params)
            if not flash:
                native.flash_attn_type = self._api.LLAMA_FLASH_ATTN_TYPE_DISABLED
            context = self._api.llama_init_from_model(self._model.handle, native)
            if context:
                self.notes += _made_otherwise(wanted, params, flash=flash)
                return context, params
        raise _no_context(wanted, starved=log.starved)


def _attempts(wanted: LoadParams) -> Iterator[tuple[LoadParams, bool]]:
    """In turn: the parameters, and whether with flash attention.  A compressed pool is not possible without it."""
    pool = wanted.pool_tokens
    while pool >= min(_LEAST_POOL, wanted.pool_tokens):
        params = replace(wanted, pool_tokens=pool)
        yield params, True
        if params.kv_type != "f16" and wanted.yielding:
            params = replace(params, kv_type="f16")
            yield params, True
        if params.kv_type == "f16":
            yield params, False
        if not wanted.yielding:
            return
        pool //= 2


def _made_otherwise(wanted: LoadParams, got: LoadParams, *, flash: bool) -> list[str]:
    notes = []
    if not flash:
        notes.append("Flash attention is not possible with this model; it runs without.")
    if got.kv_type != wanted.kv_type:
        notes.append(f"This model cannot be used with a compressed pool; it has {got.kv_type}.")
    if got.pool_tokens != wanted.pool_tokens:
        notes.append(
            f"There was not enough memory for a pool of {wanted.pool_tokens:,} tokens; it has {got.pool_tokens:,}."
        )
    return notes


def _no_context(params: LoadParams, *, starved: bool) -> ModelError:
    memory = f"There is not enough memory for a pool of {params.pool_tokens:,} tokens"
    if starved or params.kv_type == "f16":
        return OutOfMemory(f"{memory}.", part=MemoryPart.POOL)
    # A compressed pool needs flash attention, so that there is nothing to fall back to.
    return ModelError(
        f"{memory}, or this model cannot be used with a compressed one ({params.kv_type}).",
        "Choose f16 or a smaller pool in the settings.",
    )


def _sequence_ids(kind: MemoryKind, running: int) -> int:
    return min(MOST_SEQUENCES, running * (1 + _KEPT[kind]) + 4)


def _context_params(api: Any, params: LoadParams, ids: int) -> Any:
    native = api.llama_context_default_params()
    native.n_ctx = params.pool_tokens
    native.n_batch = params.batch
    native.n_seq_max = ids
    # Left at 0 the logits of a whole batch would be reserved: half a gigabyte with a large vocabulary.
    native.n_outputs_max = ids
    native.n_threads = native.n_threads_batch = params.threads or default_threads()
    native.kv_unified = True
    native.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_ENABLED
    native.type_k = native.type_v = getattr(api, _KV_TYPES[params.kv_type])
    native.offload_kqv = params.kv_offload
    # In full length the window's layers would cost up to six times as much, and its old cells are recycled all the
    # same; forks go by kept tips instead.
    native.swa_full = False
    native.no_perf = True
    return native


def _ubatch(api: Any, kind: MemoryKind, params: LoadParams) -> int:
    """A graphics processor wants many at once, and does not look whether it is to stop."""
    on_gpu = bool(api.llama_supports_gpu_offload()) and params.gpu_layers != 0
    whole = on_gpu or kind is MemoryKind.RECURRENT
    return params.batch if whole else min(params.batch, _INTERRUPTED_BY)


def default_threads() -> int:
    """All cores that this process may use, but one for the window where there are more than two."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return cores - 1 if cores > 2 else cores


class _Interrupt:
    """A flag that llama.cpp looks at between graph nodes, without any Python call.

    The abort function is the C library's `strlen` over two bytes: it is not 0 when the first byte is set.  A
    Python callback would take the interpreter's lock hundreds of times in each decode.
    """

    def __init__(self, api: Any, context: Any) -> None:
        library = ctypes.CDLL("msvcrt") if sys.platform == "win32" else ctypes.CDLL(None)
        self._bytes = ctypes.create_string_buffer(2)
        self._function = ctypes.cast(library.strlen, api.ggml_abort_callback)
        api.llama_set_abort_callback(context, self._function, ctypes.addressof(self._bytes))

    def set(self, *, on: bool) -> None:
        self._bytes[0] = b"\x01" if on else b"\x00"


class _BatchArrays:
    """The memory behind one `llama_batch`, made once and filled for every step."""

    def __init__(self, api: Any, size: int) -> None:
        self._tokens = np.zeros(size, np.int32)
        self._positions = np.zeros(size, np.int32)
        self._counts = np.ones(size, np.int32)
        self._ids = np.zeros(size, np.int32)
        self._outputs = np.zeros(size, np.int8)
        # Each token has one sequence id; its pointer points into `_ids`, and is set once and for all.
        self._pointers = self._ids.ctypes.data + 4 * np.arange(size, dtype=np.uint64)
        self._native = api.llama_batch(
            token=_cast(self._tokens, api.llama_token),
            pos=_cast(self._positions, api.llama_pos),
            n_seq_id=_cast(self._counts, ctypes.c_int32),
            seq_id=_cast(self._pointers, ctypes.POINTER(api.llama_seq_id)),
            logits=_cast(self._outputs, ctypes.c_int8),
        )

    def fill(self, batch: Batch) -> Any:
        size = batch.size
        self._tokens[:size] = batch.tokens
        self._positions[:size] = batch.positions
        self._ids[:size] = batch.sequences
        self._outputs[:size] = batch.outputs
        self._native.n_tokens = size
        return self._native


def _cast(array: npt.NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))
