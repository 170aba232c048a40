"""What the engine tells of a step."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from app.counters import Counters, RecentHits
from app.engine.pool import Pool
from app.engine.scheduler import Plan
from app.engine.sequence import Sequence


class Spent(NamedTuple):
    """Seconds of a step inside the decode, and in the choice of tokens after it."""

    decode: float = 0.0
    choice: float = 0.0


def counters(
    totals: Mapping[str, Any],
    done: Plan,
    spent: Spent,
    seconds: float,
    pool: Pool,
    sequences: Collection[Sequence],
    hits: RecentHits,
) -> Counters:
    """`totals` by the names that they have in `Counters`; `seconds` is the whole step, `spent` a part of it."""
    active = [sequence for sequence in sequences if sequence.slot is not None]
    running = sum(sequence.running for sequence in active)
    return Counters(
        **totals,
        recent=hits,
        rows=len(done.rows),
        chunk=done.chunk_tokens,
        step_ms=seconds * 1000,
        decode_ms=spent.decode * 1000,
        choice_ms=spent.choice * 1000,
        cells_used=pool.cells.used,
        cells_kept=pool.kept,
        cells_total=pool.cells.total,
        ids_used=pool.ids_used,
        ids_total=pool.ids_total,
        restored=pool.restored,
        spill_bytes=pool.states.bytes,
        spill_total=pool.states.budget,
        running=running,
        reading=len(active) - running,
        waiting=len(sequences) - len(active),
    )
