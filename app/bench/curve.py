"""The plot: speed and latency over the number of chats, from the rows `decode:N` and `raw:N`."""

from collections.abc import Sequence

from app.bench.chart import Line, Panel, draw
from app.bench.figure import Result
from app.bench.rows.row import BATCHED_BENCH, LLAMA_SERVER

OURS, SERVER, ENGINE, LIMIT = "Tutti", LLAMA_SERVER, "Tutti's engine alone", BATCHED_BENCH
NAMES = (OURS, SERVER, ENGINE, LIMIT)
"""Lines, in the order of the legend; each has its own look in every panel."""


def curve(found: Sequence[Result]) -> str:
    """The SVG."""
    panels = (
        Panel(
            "tokens a second, all chats",
            (
                *_lines(found, "decode", "speed", OURS, SERVER),
                *_lines(found, "raw", "speed", ENGINE, LIMIT),
            ),
        ),
        Panel(
            "time to first text, seconds (median)",
            _lines(found, "decode", "first", OURS, SERVER),
        ),
        Panel("gap between texts, seconds (95 %)", _lines(found, "decode", "gap", OURS, SERVER)),
    )
    return draw(panels, NAMES, "chats at once")


def _lines(
    found: Sequence[Result], kind: str, key: str, ours: str, theirs: str
) -> tuple[Line, ...]:
    """Ours, and the peer's where it was measured."""
    points = sorted(
        (int(result.row.split(":")[1]), result.median, result.peer_median)
        for result in found
        if result.row.split(":")[0] == kind and result.figure.key == key
    )
    own = Line(ours, tuple((count, value) for count, value, _ in points))
    peer = Line(theirs, tuple((count, value) for count, _, value in points if value is not None))
    return tuple(line for line in (own, peer) if line.points)
