"""From a plan to the arrays of one decode call."""

from dataclasses import dataclass

import numpy as np

from app.engine.backend import Batch
from app.engine.scheduler import Plan
from app.engine.sequence import Sequence
from app.engine.slot import Slot


@dataclass(frozen=True, slots=True)
class Call:
    """One decode call: `parts` are the sequences with how many tokens of each it evaluates, in the order of the
    batch; `outputs` the sequences whose next token is to be chosen, each with its batch row."""

    parts: tuple[tuple[Sequence, int], ...]
    batch: Batch
    outputs: tuple[tuple[Sequence, int], ...]


def slot_of(sequence: Sequence) -> Slot:
    """The slot of a sequence that is planned; raises RuntimeError where it has none."""
    if sequence.slot is None:
        raise RuntimeError(f"request {sequence.id} is planned without a slot")
    return sequence.slot


def build(plan: Plan) -> Call:
    """One-row sequences first, each kind in order of its ids: split memories take them in one pass then."""
    rows = sorted(plan.rows, key=_id)
    chunks = sorted(plan.chunks, key=lambda part: _id(part[0]))
    outputs: list[tuple[Sequence, int]] = [(sequence, row) for row, sequence in enumerate(rows)]
    batch = Batch(
        np.array([sequence.tokens.last for sequence in rows], np.int32),
        np.array([sequence.evaluated for sequence in rows], np.int32),
        np.array([_id(sequence) for sequence in rows], np.int32),
        np.ones(len(rows), np.int8),
    )
    if not chunks:
        return Call((*((sequence, 1) for sequence in rows),), batch, tuple(outputs))
    tokens, positions, ids = [batch.tokens], [batch.positions], [batch.sequences]
    size = len(rows)
    for sequence, count in chunks:
        start = sequence.evaluated
        tokens.append(sequence.next_tokens(count))
        positions.append(np.arange(start, start + count, dtype=np.int32))
        ids.append(np.full(count, _id(sequence), np.int32))
        size += count
        if count == sequence.remaining and sequence.wants_token:
            outputs.append((sequence, size - 1))
    flags = np.zeros(size, np.int8)
    flags[[row for _, row in outputs]] = 1
    batch = Batch(np.concatenate(tokens), np.concatenate(positions), np.concatenate(ids), flags)
    return Call((*((sequence, 1) for sequence in rows), *chunks), batch, tuple(outputs))


def _id(sequence: Sequence) -> int:
    return slot_of(sequence).id
