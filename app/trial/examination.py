"""All that is done with a model before anybody relies on it, in the order in which a fault is cheapest to find.

The head and the list of tensors by our own reader; vocabulary, tokenizer and template as the text worker takes them;
one step of two tokens as the engine does it, which reads the weights once.  llama.cpp ends the process on some
files, so that this runs where nothing else does.  What a part needs is imported by it: most bad files are found by their
head, before anything large is loaded.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app import modelfile
from app.dialogue import ChatLine
from app.errors import ModelError
from app.sizing import extent
from app.sizing.header import read_header
from app.wire import LoadParams, Render

if TYPE_CHECKING:
    from app.engine.context import LlamaBackend

Tell = Callable[[float], None]
"""Hears how far it is, 0 to 1."""

_POOL = 512
_CONVERSATION = (
    ChatLine("user", "Hello, 1 + 1?\n"),
    ChatLine("assistant", "2"),
    ChatLine("user", "x"),
)
_HEAD, _TEXT, _WEIGHTS = 0.05, 0.2, 0.9
"""How far it is after each part."""
_SHORT = ("allocate", "bad_alloc", "out of memory")
"""What llama.cpp says where memory is wanting."""


class MemoryWanting(Exception):
    """The check could not have the memory that this file takes."""


def examine(path: Path, tell: Tell) -> None:
    """Returns where the model in `path` is sound.

    Raises ModelError with the reason where it is not, MemoryWanting and MemoryError where that cannot be told.
    """
    _look_at_head(path)
    tell(_HEAD)
    _try_text(path)
    tell(_TEXT)
    _try_weights(path, lambda fraction: tell(_TEXT + fraction * (_WEIGHTS - _TEXT)))
    tell(1.0)


def _look_at_head(path: Path) -> None:
    for part in modelfile.parts(path) or [path]:
        problem = extent.problem(part, read_header(part))
        if problem:
            raise ModelError(
                f"“{part.name}” cannot be used: {problem}.",
                "The file is damaged; download it again.",
            )


def _try_text(path: Path) -> None:
    from app.text.session import TextSession

    session = TextSession(path)
    try:
        # Whatever comes of it: a template that refuses a conversation is no fault of the file.
        session.render(Render(0, _CONVERSATION))
    finally:
        session.close()


def _try_weights(path: Path, tell: Tell) -> None:
    from app import llama
    from app.engine.context import LlamaBackend, default_threads
    from app.engine.model import Model

    # On the processor alone: what graphics memory there is belongs to the engines.
    threads = max(1, default_threads() // 2)
    params = LoadParams(
        str(path), pool_tokens=_POOL, sequences=1, batch=32, threads=threads, gpu_layers=0, device="CPU"
    )  # fmt: skip
    api = llama.load()
    log = llama.NativeLog(api)

    def progress(fraction: float) -> bool:
        tell(fraction)
        return True

    try:
        model = Model(api, params, log, progress, proving=True)
    except ModelError as error:
        if any(sign in log.reason for sign in _SHORT):
            raise MemoryWanting from error
        raise
    model.check_usable()
    try:
        backend = LlamaBackend(api, model, params)
    except ModelError as error:
        raise MemoryWanting from error
    _step(backend, path.name)
    backend.close()
    model.close()


def _step(backend: "LlamaBackend", name: str) -> None:
    import numpy as np

    from app.engine.backend import Batch, DecodeResult

    last = backend.info.vocabulary - 1
    if last < 0:
        raise _senseless(name, "it has no tokens")
    two = np.arange(2, dtype=np.int32)
    result = backend.decode(
        Batch(np.array([0, last], np.int32), two, np.zeros(2, np.int32), np.ones(2, np.int8))
    )
    if result is not DecodeResult.DONE:
        raise _senseless(name, "a first step with it fails")
    if not all(np.isfinite(backend.logits_of(row)).all() for row in range(2)):
        raise _senseless(name, "what it computes are no numbers")


def _senseless(name: str, why: str) -> ModelError:
    return ModelError(
        f"“{name}” cannot be used: {why}.", "The file is damaged or badly made; download it again, or choose another."
    )  # fmt: skip
