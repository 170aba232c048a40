"""The rows by name."""

from dataclasses import fields

from app.bench.modes import Mode
from app.bench.rows.bookkeeping import Bookkeeping
from app.bench.rows.cancel import Cancel
from app.bench.rows.crowd import Crowd
from app.bench.rows.decode import Decode
from app.bench.rows.download import Download
from app.bench.rows.edge import Edge
from app.bench.rows.fork import Fork
from app.bench.rows.idle import Idle
from app.bench.rows.killed import Killed
from app.bench.rows.mode import ModeRow
from app.bench.rows.models import Models
from app.bench.rows.own import Own
from app.bench.rows.pace import PaceRow
from app.bench.rows.prefix import Prefix
from app.bench.rows.pressure import Pressure
from app.bench.rows.raw import Raw
from app.bench.rows.row import Row
from app.bench.rows.spill import Spill
from app.bench.rows.stall import Stall
from app.bench.rows.turns import Turns

KINDS: tuple[type[Row], ...] = (
    *(Raw, Decode, Prefix, Stall, PaceRow, Turns, Pressure, Fork, Spill, Own, Idle, Bookkeeping),
    *(Cancel, Killed, Crowd, Edge, Models, Download, ModeRow),
)


def parse(name: str) -> Row:
    """The row of this name; numbers that are left out have their defaults.  Raises ValueError with what is wrong."""
    kind, *words = name.split(":")
    found = next((known for known in KINDS if known.kind == kind), None)
    if found is None:
        known_kinds = ", ".join(known.kind for known in KINDS)
        raise ValueError(f"There is no row {kind!r}; there are {known_kinds}.")
    if found is ModeRow and len(words) == 1:
        return ModeRow(_mode(words[0]))
    if len(words) > found.shown or not all(_is_count(word) for word in words):
        pattern = ":".join([kind, *(field.name for field in fields(found)[: found.shown])])
        raise ValueError(f"A row is named {pattern}, with positive numbers, and not {name!r}.")
    return found(*map(int, words))


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 8 and int(word) > 0


def _mode(word: str) -> Mode:
    try:
        return Mode(word)
    except ValueError:
        raise ValueError(f"There is no mode {word!r}; there are {', '.join(Mode)}.") from None
