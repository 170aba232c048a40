"""All that is done with a model before anybody relies on it, in the order in which a fault is cheapest to find.

The head and the list of tensors by our own reader; vocabulary, tokenizer and template as the text worker takes them;
two steps of the engine, which read the weights twice.  llama.cpp ends the process on some files, so that this runs where
nothing else does.  What a part needs is imported by it: most bad files are found by their head, before anything large is
loaded.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import llama, modelfile
from app.dialogue import ChatLine
from app.errors import ModelError
from app.sizing import extent
from app.sizing.header import read_header
from app.verdict import BEGUN
from app.wire import LoadParams, Render, Rendered, TextFailed, Tokenize

if TYPE_CHECKING:
    from app.engine.context import LlamaBackend

Tell = Callable[[float], None]
"""Hears how far it is, 0 to 1."""

_POOL = 512
_LEAST_CONTEXT = 64
"""Tokens: no model of less can be chatted with."""
_PROMPT = 24
_MOST_THREADS = 4
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
    api = llama.load()
    tell(BEGUN)
    prompt = _try_text(path)
    tell(_TEXT)
    _try_weights(api, path, prompt, lambda fraction: tell(_TEXT + fraction * (_WEIGHTS - _TEXT)))
    tell(1.0)


def _look_at_head(path: Path) -> None:
    for part in modelfile.parts(path) or [path]:
        problem = extent.problem(part, read_header(part))
        if problem:
            raise ModelError(
                f"“{part.name}” cannot be used: {problem}.",
                "The file is damaged; download it again.",
            )


def _try_text(path: Path) -> tuple[int, ...]:
    """The tokens of a short conversation.  A template that refuses it is no fault of the file: then some others."""
    from app.text.session import TextSession

    session = TextSession(path)
    try:
        counted = session.count(Tokenize(0, _CONVERSATION[0].content))
        if isinstance(counted, TextFailed):
            raise _senseless(path.name, "its vocabulary has no tokens for ordinary text")
        rendered = session.render(Render(0, _CONVERSATION))
    finally:
        session.close()
    return rendered.tokens[:_PROMPT] if isinstance(rendered, Rendered) else (0,) * _PROMPT


def _try_weights(api: Any, path: Path, prompt: Sequence[int], tell: Tell) -> None:
    from app.engine.context import LlamaBackend, default_threads
    from app.engine.model import Model

    threads = max(1, min(_MOST_THREADS, default_threads() // 2))
    params = LoadParams(
        str(path), pool_tokens=_POOL, sequences=1, batch=64, threads=threads, gpu_layers=0, device="CPU"
    )  # fmt: skip
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
    if 0 < model.trained_context < _LEAST_CONTEXT:
        raise _senseless(path.name, f"its chats would hold {model.trained_context} tokens at most")
    try:
        backend = LlamaBackend(api, model, params)
    except ModelError as error:
        raise MemoryWanting from error
    _read_and_write(backend, prompt, path.name)
    backend.close()
    model.close()


def _read_and_write(backend: "LlamaBackend", prompt: Sequence[int], name: str) -> None:
    """Read the prompt with the first and the last token of the vocabulary before it, and one token more."""
    vocabulary = backend.info.vocabulary
    if not vocabulary:
        raise _senseless(name, "it has no tokens")
    if max(prompt, default=0) >= vocabulary:
        raise _senseless(name, "its tokenizer makes tokens that the model does not have")
    # Several at once with one output, as the engine reads; then a single one, as it writes.
    _step(backend, [0, vocabulary - 1, *prompt], 0, name)
    _step(backend, [0], 2 + len(prompt), name)


def _step(backend: "LlamaBackend", tokens: list[int], position: int, name: str) -> None:
    import numpy as np

    from app.engine.backend import Batch, DecodeResult

    count = len(tokens)
    positions = np.arange(position, position + count, dtype=np.int32)
    outputs = np.zeros(count, np.int8)
    outputs[-1] = 1
    batch = Batch(np.array(tokens, np.int32), positions, np.zeros(count, np.int32), outputs)
    if backend.decode(batch) is not DecodeResult.DONE:
        raise _senseless(name, "it cannot compute")
    if not np.isfinite(backend.logits_of(0)).all():
        raise _senseless(name, "what it computes are no numbers")


def _senseless(name: str, why: str) -> ModelError:
    return ModelError(
        f"“{name}” cannot be used: {why}.", "The file is damaged or badly made; download it again, or choose another."
    )  # fmt: skip
