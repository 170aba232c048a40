"""Models with the same content: those of the same size first, and of these only what nobody has told the hash of is read."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from app import plainfile
from app.hub.library import LocalModel

_CHUNK = 1 << 20

Tell = Callable[[int], None]


def duplicates(
    models: Iterable[LocalModel],
    tell: Tell = lambda _count: None,
    known: dict[tuple[str, int, int], str] | None = None,
) -> list[tuple[LocalModel, ...]]:
    """Those with the same content, together.

    `tell` gets the bytes read and may raise, to stop.  In `known` hashes are remembered, by path, size and time of
    change.  A file that goes away meanwhile is left out.
    """
    remembered = {} if known is None else known
    found: list[tuple[LocalModel, ...]] = []
    for alike in _same_size(models):
        by_content: dict[tuple[str, ...], list[LocalModel]] = {}
        for model in alike:
            content = _content(model, tell, remembered)
            if content:
                by_content.setdefault(content, []).append(model)
        found += [tuple(same) for same in by_content.values() if len(same) > 1]
    return found


def to_read(models: Iterable[LocalModel]) -> int:
    """How many bytes `duplicates` reads where nothing is remembered."""
    return sum(model.size for alike in _same_size(models) for model in alike if not model.digest)


def _same_size(models: Iterable[LocalModel]) -> Sequence[list[LocalModel]]:
    """Two and more of one size."""
    by_size: dict[tuple[int, ...], list[LocalModel]] = {}
    for model in models:
        try:
            sizes = tuple(path.stat().st_size for path in model.files)
        except OSError:
            continue
        if not model.problem:
            by_size.setdefault(sizes, []).append(model)
    return [alike for alike in by_size.values() if len(alike) > 1]


def _content(model: LocalModel, tell: Tell, known: dict[tuple[str, int, int], str]) -> tuple[str, ...]:  # fmt: skip
    """The hashes of its files; none where one cannot be read."""
    if model.digest:
        return (model.digest,)
    try:
        return tuple(_remembered(path, tell, known) for path in model.files)
    except OSError:
        return ()


def _remembered(path: Path, tell: Tell, known: dict[tuple[str, int, int], str]) -> str:
    state = path.stat()
    key = str(path), state.st_size, state.st_mtime_ns
    if key in known:
        tell(state.st_size)
    else:
        known[key] = _sha256(path, tell)
    return known[key]


def _sha256(path: Path, tell: Tell) -> str:
    whole = hashlib.sha256()
    with plainfile.opened(path) as file:
        while data := file.read(_CHUNK):
            whole.update(data)
            tell(len(data))
    return whole.hexdigest()
