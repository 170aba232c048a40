"""llama.cpp's C API, loaded without the binding's high-level half.

`import llama_cpp` runs `llama.py`, which costs half a second and pulls in packages that are not needed; only the
low-level module is wanted.  Only child processes call this.
"""

import ctypes
import importlib
import importlib.util
import logging
import os
import re
import sys
import types
from itertools import compress, repeat
from typing import Any

from app import __version__
from app.device import Device

_LOG = logging.getLogger(__name__)
_LEVEL_WARN, _LEVEL_ERROR = 3, 4
_STARVED = re.compile(
    r"(insufficient|not enough|cannot allocate|out of( \w+)?) memory|(failed|unable) to allocate|bad_alloc"
    r"|OutOf(Device|Host)Memory",
    re.IGNORECASE,
)
"""What the backends say where an allocation failed."""

_REASON, _NO_REASON = "error loading model: ", "llama_model_loader: failed to load"

_GPU_KINDS = (1, 2)
"""Of `ggml_backend_dev_type`: a GPU, and one that shares the machine's memory."""

_CALLBACKS: list[object] = []
"""Functions that llama.cpp may call until the process ends."""


def load() -> Any:
    """The module `llama_cpp.llama_cpp`, with backends registered and llama.cpp's log in ours."""
    # ggml would start a debugger on an abort, which delays the restart and prints memory.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    os.environ.pop("GGML_BACKEND_PATH", None)
    if "llama_cpp" not in sys.modules:
        spec = importlib.util.find_spec("llama_cpp")
        if spec is None or spec.submodule_search_locations is None:
            raise ModuleNotFoundError("llama_cpp")
        package = types.ModuleType("llama_cpp")
        package.__path__ = list(spec.submodule_search_locations)
        package.__spec__ = spec
        sys.modules["llama_cpp"] = package
    api = importlib.import_module("llama_cpp.llama_cpp")
    _register_backends(api)
    api.llama_backend_init()
    return api


def version() -> str:
    """The binding's version; states saved by another one are not used."""
    # Reading it takes Python's half of `email`: a tenth of what a child takes to start, and most never ask.
    from importlib import metadata

    try:
        return metadata.version("llama-cpp-python")
    except metadata.PackageNotFoundError:
        # A frozen build may come without the metadata; then every release of the app counts as another.
        return f"tutti {__version__}"


def _register_backends(api: Any) -> None:
    # A build with loadable backends looks for them beside the executable and in the current folder, where a
    # stranger's file could lie; so they are loaded from the binding's own folder first.
    library = api._lib
    library.ggml_backend_reg_count.restype = ctypes.c_size_t
    if library.ggml_backend_reg_count() == 0:
        load_all = library.ggml_backend_load_all_from_path
        load_all.argtypes, load_all.restype = [ctypes.c_char_p], None
        load_all(os.fsencode(api._base_path))


def bare(api: Any, name: str, result: Any) -> Any:
    """A function of the library that takes its arguments as they are, for loops in which checking them is most of the work.

    Python's own whole numbers are passed as 32 bits: a pointer has to be a `c_void_p`.
    """
    function = api._lib[name]
    function.restype = result
    return function


def end_tokens(api: Any, vocabulary: int) -> tuple[int, ...]:
    """The tokens that end an answer; `vocabulary` is llama.cpp's pointer."""
    tokens = range(api.llama_vocab_n_tokens(vocabulary))
    is_end = bare(api, "llama_vocab_is_eog", ctypes.c_bool)
    return tuple(compress(tokens, map(is_end, repeat(ctypes.c_void_p(vocabulary)), tokens)))


class NativeLog:
    """llama.cpp's log: its warnings go to ours, and why a file could not be loaded is kept.

    `starved`: since `clear` memory was asked for that there was not.
    """

    def __init__(self, api: Any) -> None:
        self.reason = ""
        self.starved = False
        callback = api.llama_log_callback(self._line)
        api.llama_log_set(callback, ctypes.c_void_p(0))
        _CALLBACKS.append(callback)

    def clear(self) -> None:
        self.reason, self.starved = "", False

    def _line(self, level: int, text: bytes, _data: object) -> None:
        line = text.decode("utf-8", "replace").strip()
        if level not in (_LEVEL_WARN, _LEVEL_ERROR) or not line:
            return
        # Not ERROR: what matters of it reaches the user as the reason of a refusal.
        _LOG.warning("%s", line)
        self.starved = self.starved or _STARVED.search(line) is not None
        _, found, reason = line.partition(_REASON)
        if found and not self.reason and not reason.startswith(_NO_REASON):
            self.reason = reason[:200]


def devices(api: Any) -> tuple[Device, ...]:
    """The compute devices of this build and machine, GPUs first."""
    library = api._lib
    library.ggml_backend_dev_count.restype = ctypes.c_size_t
    library.ggml_backend_dev_get.restype = ctypes.c_void_p
    library.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    found = [
        _device(library, library.ggml_backend_dev_get(index))
        for index in range(library.ggml_backend_dev_count())
    ]
    return tuple(sorted(found, key=lambda device: (not device.gpu, device.name)))


def device_handle(api: Any, name: str) -> int | None:
    """llama.cpp's pointer to the device of this name; None where there is none."""
    by_name = api._lib.ggml_backend_dev_by_name
    by_name.argtypes, by_name.restype = [ctypes.c_char_p], ctypes.c_void_p
    handle: int | None = by_name(name.encode())
    return handle


def _device(library: Any, handle: int) -> Device:
    kind, memory = library.ggml_backend_dev_type, library.ggml_backend_dev_memory
    kind.argtypes = [ctypes.c_void_p]
    size = ctypes.POINTER(ctypes.c_size_t)
    memory.argtypes, memory.restype = [ctypes.c_void_p, size, size], None
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    memory(handle, ctypes.byref(free), ctypes.byref(total))
    return Device(
        _text(library, "name", handle),
        _text(library, "description", handle),
        kind(handle) in _GPU_KINDS,
        total.value,
        free.value,
    )


def _text(library: Any, what: str, device: int) -> str:
    function = getattr(library, f"ggml_backend_dev_{what}")
    function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_char_p
    return (function(device) or b"").decode("utf-8", "replace").strip()
