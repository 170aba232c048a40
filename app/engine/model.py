"""A model file in memory: load with progress, refuse with a reason, free.

llama.cpp aborts the process on some files; that is why all of this runs in a child.
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import llama, modelfile
from app.engine.backend import MemoryKind
from app.errors import MemoryPart, ModelError, OutOfMemory
from app.llama import NativeLog
from app.wire import LoadParams


class LoadCancelledError(Exception):
    """The load was given up because the progress callback said so."""


class Model:
    """A loaded GGUF.  `handle` is llama.cpp's pointer, `log` what it says."""

    def __init__(
        self,
        api: Any,
        params: LoadParams,
        log: NativeLog,
        progress: Callable[[float], bool],
        *,
        proving: bool = False,
    ) -> None:
        """Load `params.path`; `progress` gets 0 to 1 and returns False to give up.

        With `proving` no weights are copied into an order that computes faster, so that little memory is taken.
        Raises ModelError with words for the user, or LoadCancelledError.
        """
        path = Path(params.path)
        modelfile.check(path)
        self.fingerprint = modelfile.identity(path)
        self._api = api
        self.log = log
        self._cancelled = False
        self._buffer = ctypes.create_string_buffer(256)
        log.clear()
        native = _model_params(api, params)
        if proving:
            native.use_extra_bufts = False
        chosen = _devices(api, params.device)
        if chosen is not None:
            native.devices = ctypes.addressof(chosen)
        callback = api.llama_progress_callback(
            lambda fraction, _: self._progress(progress, fraction)
        )
        native.progress_callback = callback
        self.handle = api.llama_model_load_from_file(os.fsencode(path), native)
        if self._cancelled:
            self.close()
            raise LoadCancelledError
        if not self.handle and log.starved:
            raise OutOfMemory(
                f"There is not enough memory for “{path.name}”.",
                part=MemoryPart.WEIGHTS,
            )
        if not self.handle:
            raise modelfile.refused(path, log.reason)
        self.vocab = api.llama_model_get_vocab(self.handle)
        try:
            modelfile.check_same(path, self.fingerprint)
        except ModelError:
            self.close()
            raise

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            self._api.llama_model_free(self.handle)
            self.handle = None

    @property
    def kind(self) -> MemoryKind:
        recurrent = self._api.llama_model_is_recurrent(self.handle)
        hybrid = self._api.llama_model_is_hybrid(self.handle)
        if recurrent or hybrid:
            return MemoryKind.RECURRENT
        window = int(self._api.llama_model_n_swa(self.handle)) > 0
        return MemoryKind.WINDOW if window else MemoryKind.ATTENTION

    @property
    def trained_context(self) -> int:
        return int(self._api.llama_model_n_ctx_train(self.handle))

    @property
    def vocabulary(self) -> int:
        return int(self._api.llama_vocab_n_tokens(self.vocab))

    @property
    def end_tokens(self) -> tuple[int, ...]:
        """The vocabulary's end-of-generation tokens."""
        return llama.end_tokens(self._api, self.vocab)

    def piece(self, token: int) -> bytes:
        """What a token writes; nothing for a control token."""
        call = self._api.llama_token_to_piece
        size = int(call(self.vocab, token, self._buffer, len(self._buffer), 0, False))
        if size < 0:
            self._buffer = ctypes.create_string_buffer(-size)
            size = int(call(self.vocab, token, self._buffer, len(self._buffer), 0, False))
        return self._buffer.raw[:size]

    @property
    def description(self) -> str:
        buffer = ctypes.create_string_buffer(256)
        self._api.llama_model_desc(self.handle, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    def check_usable(self) -> None:
        """Raises ModelError for a model that cannot write text one token after the other."""
        if not self._api.llama_model_has_decoder(self.handle) or self._api.llama_model_has_encoder(
            self.handle
        ):
            raise ModelError(
                "This model is not made for chatting (it is an encoder).", "Choose a chat model."
            )

    def _progress(self, progress: Callable[[float], bool], fraction: float) -> bool:
        self._cancelled = not progress(fraction)
        return not self._cancelled


def _model_params(api: Any, params: LoadParams) -> Any:
    native = api.llama_model_default_params()
    native.load_mode = api.LLAMA_LOAD_MODE_MMAP if params.mmap else api.LLAMA_LOAD_MODE_NONE
    if params.gpu_layers >= 0:
        native.n_gpu_layers = params.gpu_layers
    return native


def _devices(api: Any, name: str) -> Any:
    """llama.cpp's list of GPUs to use: all there are (None), the one of this name, or none for the processor's.

    Raises ModelError where there is no such device.
    """
    if not name:
        return None
    found = llama.devices(api)
    device = next((one for one in found if one.name.lower() == name.lower()), None)
    if device is None:
        known = ", ".join(one.name for one in found)
        raise ModelError(f"There is no device “{name}” here; there is {known}.")
    handles = [llama.device_handle(api, device.name)] if device.gpu else []
    return (ctypes.c_void_p * (len(handles) + 1))(*handles, None)
