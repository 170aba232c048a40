"""From a plan to the arrays of one decode call."""

from dataclasses import dataclass

import numpy as np

from app.engine.backend import Batch, TokenArray
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
    parts = [(sequence, 1) for sequence in sorted(plan.rows, key=_id)]
    parts += sorted(plan.chunks, key=lambda part: _id(part[0]))
    tokens: list[TokenArray] = []
    positions: list[TokenArray] = []
    ids: list[TokenArray] = []
    outputs: list[tuple[Sequence, int]] = []
    size = 0
    for sequence, count in parts:
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
    return Call(tuple(parts), batch, tuple(outputs))


def _id(sequence: Sequence) -> int:
    return slot_of(sequence).id
