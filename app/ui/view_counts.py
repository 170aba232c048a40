"""What a transcript has done so far, and what it holds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ViewCounts:
    """What was done so far, and what is held now; tests count these instead of milliseconds.

    `laid_out` blocks were laid out, `alive` blocks hold a layout, `opened` messages have blocks, `parsed`
    characters went to the parser, `flushes` is how often text was taken in; `redraws`, of which `full_paints`
    covered the whole view, painted `painted_blocks`; `blits` moved what was there.
    """

    messages: int
    opened: int
    laid_out: int
    alive: int
    parsed: int
    flushes: int
    redraws: int
    full_paints: int
    painted_blocks: int
    blits: int
