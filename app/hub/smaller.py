"""The same model in smaller quantisations: those on this machine, and how small the hub's usually are."""

from pathlib import Path

from app.errors import ModelError
from app.hub import details, names
from app.hub.library import Library, LocalModel
from app.sizing.footprint import Footprint, footprint
from app.sizing.header import read_header
from app.sizing.remedies import Smaller

_BITS = {
    "F32": 32.0,
    "F16": 16.0,
    "BF16": 16.0,
    "1": 1.9,
    "2": 3.0,
    "3": 3.9,
    "4": 4.8,
    "5": 5.7,
    "6": 6.6,
    "8": 8.5,
}
"""About how many a weight takes, by the name of the quantisation or the first digit in it."""

_LEAST = _BITS["3"]
"""Of the smallest that is still advised."""


def smaller(library: Library, path: Path) -> tuple[tuple[Smaller, ...], float]:
    """What `library` has of the model in the file `path` besides that file; and the share of its size that the smallest
    usual quantisation would have, 1 where that is not known.  Reads files."""
    try:
        header = read_header(path)
    except ModelError:
        return (), 1.0
    about = details.of_header(header, path.name)
    model = footprint(header, 0)
    found = [
        Smaller(str(one.path), one.details.quantisation or one.name, one.footprint)
        for one in library.scan()
        if one.footprint is not None
        and one.chats
        and one.path != path
        and _same(one, one.footprint, path, about.title, model)
    ]
    return tuple(found), least_share(about.quantisation)


def least_share(quantisation: str) -> float:
    """How large the smallest quantisation still advised is beside this one; 1 where nothing smaller is known."""
    bare = quantisation.removeprefix("UD-")
    digit = next((letter for letter in bare if letter.isdigit()), "")
    bits = _BITS.get(bare, _BITS.get(digit, 0.0))
    return min(1.0, _LEAST / bits) if bits else 1.0


def _same(one: LocalModel, of: Footprint, path: Path, title: str, model: Footprint) -> bool:
    """Whether it is the same model: of the same shape, and called the same but for the quantisation."""
    if (of.layers, of.width, of.vocabulary) != (model.layers, model.width, model.vocabulary):
        return False
    titled = bool(title) and one.details.title == title
    return titled or _bare(one.path.name) == _bare(path.name)


def _bare(name: str) -> str:
    """A file's name without its quantisation."""
    stem = name.rpartition(".")[0].casefold()
    label = names.quantisation(name).casefold()
    return stem.replace(label, "") if label else stem
