"""What a decode log tells, and doing it again on a fresh backend: the exact comparisons of the field cases.

Replay rule: the same calls give the same logits, bit for bit.  Neighbour-swap rule: with other tokens in all rows that
a sequence cannot see, its logits do not change by a bit.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.backend import Backend, Batch, DecodeResult, Past, Sampler
from app.engine.context import LlamaBackend
from app.sampling import Sampling, fill

Record = dict[str, Any]
Output = tuple[int, int, npt.NDArray[np.float32]]
"""Sequence id, position, logits."""
Rewrite = Callable[[int, npt.NDArray[np.int32]], npt.NDArray[np.int32]]
"""(number of the record, its tokens) to the tokens that are put in their place."""


def read_log(path: Path) -> list[Record]:
    """The records of a log; a last line that a kill has cut is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def evaluated(record: Record) -> list[int]:
    """The rows of a decode call whose cells stayed: all, none, or what was done before an interrupt."""
    call, result = record["decode"], record["result"]
    every = range(len(call["tokens"]))
    if result == DecodeResult.ABORTED:
        spans = record["spans"]
        return [
            row for row in every if call["positions"][row] <= spans[str(call["sequences"][row])][1]
        ]
    return list(every) if result == DecodeResult.DONE else []


# --- what the sequences hold ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """One evaluated token: which record evaluated it, in which row, at which position; and the record that put it back
    into the pool, where it was saved outside meanwhile."""

    call: int
    row: int
    position: int
    token: int
    restored: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """A sequence after a decode call that asked for its logits: all that it sees, in order."""

    call: int
    sequence: int
    cells: tuple[Cell, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(cell.token for cell in self.cells)

    @property
    def cuts(self) -> list[int]:
        """Where the calls that evaluated it ended."""
        calls = [cell.call for cell in self.cells]
        ends = [index for index in range(1, len(calls)) if calls[index] != calls[index - 1]]
        return [*ends, len(calls)]


class Mirror:
    """Follows a log; `owned` are the cells of each sequence by position."""

    def __init__(self) -> None:
        self.owned: dict[int, dict[int, Cell]] = {}
        self._saved: dict[str, dict[int, Cell]] = {}

    def follow(self, number: int, record: Record) -> list[Moment]:
        """Take in one record; the moments of a decode call."""
        owned = self.owned
        if "remove" in record and record["done"]:
            sequence, start, end = record["remove"]
            kept = owned.get(sequence, {})
            owned[sequence] = {
                p: c for p, c in kept.items() if p < start or (end is not None and p >= end)
            }
        elif "copy" in record:
            source, target, start, end = record["copy"]
            copied = {p: c for p, c in owned.get(source, {}).items() if start <= p < end}
            owned[target] = {**owned.get(target, {}), **copied}
        elif "save" in record:
            self._saved[record["name"]] = dict(owned.get(record["save"], {}))
        elif "restore" in record and record["done"]:
            saved = self._saved[record["name"]]
            owned[record["restore"]] = {
                p: dataclasses.replace(cell, restored=number) for p, cell in saved.items()
            }
        elif "decode" in record:
            return self._decode(number, record)
        return []

    @property
    def used(self) -> int:
        """Cells of the pool that somebody owns."""
        return len({cell for held in self.owned.values() for cell in held.values()})

    def _decode(self, number: int, record: Record) -> list[Moment]:
        call, done = record["decode"], evaluated(record)
        rows = list(zip(call["sequences"], call["positions"], call["tokens"], strict=True))
        for row in done:
            sequence, position, token = rows[row]
            self.owned.setdefault(sequence, {})[position] = Cell(number, row, position, token)
        if record["result"] != DecodeResult.DONE:
            return []
        wanted = [index for index, flag in enumerate(call["outputs"]) if flag]
        return [self._moment(number, *rows[index][:2]) for index in wanted]

    def _moment(self, number: int, sequence: int, position: int) -> Moment:
        held = self.owned[sequence]
        return Moment(number, sequence, tuple(held[p] for p in range(position + 1)))


def moments(records: list[Record]) -> Iterator[Moment]:
    """Every output of a log, with all that its sequence saw."""
    mirror = Mirror()
    for number, record in enumerate(records):
        yield from mirror.follow(number, record)


def used_cells(records: list[Record]) -> int:
    """The cells in use after the last record."""
    mirror = Mirror()
    for number, record in enumerate(records):
        mirror.follow(number, record)
    return mirror.used


# --- doing it again ------------------------------------------------------------------------------------------


class Replay:
    """Does what a log tells on a fresh backend.  `outputs` are all outputs in order; `chosen` the tokens that the
    samplers and argmax choose this time, and `told` those of the log, in the same order."""

    def __init__(self, backend: LlamaBackend, rewrite: Rewrite | None = None) -> None:
        self._backend = backend
        self._rewrite = rewrite
        self._saved: dict[str, bytes] = {}
        self._samplers: dict[int, Sampler] = {}
        self.outputs: list[Output] = []
        self.chosen: list[int] = []
        self.told: list[int] = []

    def run(self, records: list[Record]) -> "Replay":
        for number, record in enumerate(records):
            kind = next(iter(record))
            getattr(self, f"_{kind}")(number, record)
        for sampler in self._samplers.values():
            sampler.close()
        return self

    def _remember(self, _: int, record: Record) -> None:
        self._samplers[record["remember"]].remember(record["token"])

    def _save_tip(self, _: int, record: Record) -> None:
        self._saved[record["name"]] = self._backend.save_tip(record["save_tip"]) or b""

    def _load_tip(self, _: int, record: Record) -> None:
        data = self._saved[record["name"]]
        assert self._backend.load_tip(record["load_tip"], data) == record["done"]

    def _save(self, _: int, record: Record) -> None:
        self._saved[record["name"]] = self._backend.save(record["save"]) or b""

    def _restore(self, _: int, record: Record) -> None:
        data = self._saved[record["name"]]
        assert self._backend.restore(record["restore"], data) == record["done"]

    def _remove(self, _: int, record: Record) -> None:
        assert self._backend.remove(*record["remove"]) == record["done"]

    def _copy(self, _: int, record: Record) -> None:
        self._backend.copy(*record["copy"])

    def _decode(self, number: int, record: Record) -> None:
        call = {name: np.array(values) for name, values in record["decode"].items()}
        tokens = call["tokens"].astype(np.int32)
        if self._rewrite is not None:
            tokens = self._rewrite(number, tokens)
        # What was interrupted is done as far as it came, and nothing is asked of it.
        whole = record["result"] != DecodeResult.ABORTED
        rows = slice(None) if whole else evaluated(record)
        batch = Batch(
            tokens[rows],
            call["positions"].astype(np.int32)[rows],
            call["sequences"].astype(np.int32)[rows],
            call["outputs"].astype(np.int8)[rows] * whole,
        )
        if batch.size:
            assert self._backend.decode(batch) == (record["result"] if whole else 0)
        for index, row in enumerate(np.flatnonzero(batch.outputs)):
            place = (int(batch.sequences[row]), int(batch.positions[row]))
            self.outputs.append((*place, self._backend.logits_of(index)))

    def _argmax(self, _: int, record: Record) -> None:
        self.chosen += self._backend.argmax(record["argmax"], ban_ends=record["ban_ends"])
        self.told += record["tokens"]

    def _sampler(self, _: int, record: Record) -> None:
        sampling, wrong = fill(Sampling(), record["sampling"])
        assert not wrong
        self._samplers[record["sampler"]] = self._backend.sampler(
            sampling,
            seed=record["seed"],
            ban_ends=record["ban_ends"],
            past=Past(
                np.array(record["tokens"], np.int32),
                record["written"],
                bytes.fromhex(record["breakers"]),
                tuple(map(bytes.fromhex, record["texts"])),
            ),
        )

    def _sample(self, _: int, record: Record) -> None:
        self.chosen.append(self._samplers[record["sample"]].sample(record["row"]))
        self.told.append(record["token"])


def replay(
    backend: LlamaBackend, records: list[Record], rewrite: Rewrite | None = None
) -> list[Output]:
    """Do again what a decode log tells; the outputs."""
    return Replay(backend, rewrite).run(records).outputs


def read_with_cuts(
    backend: Backend, tokens: tuple[int, ...], cuts: list[int]
) -> npt.NDArray[np.float32]:
    """Evaluate `tokens` as sequence 0 in calls that end at `cuts`; the logits of the last token."""
    start = 0
    for end in cuts:
        outputs = np.zeros(end - start, np.int8)
        outputs[-1] = 1
        batch = Batch(
            np.array(tokens[start:end], np.int32),
            np.arange(start, end, dtype=np.int32),
            np.zeros(end - start, np.int32),
            outputs,
        )
        assert backend.decode(batch) == 0
        start = end
    assert isinstance(backend, LlamaBackend)
    return backend.logits_of(0)


# --- neighbours ----------------------------------------------------------------------------------------------


def family(records: list[Record], watched: int) -> set[tuple[int, int]]:
    """(record, row) of every token that the watched sequence may ever see: its own and those it was copied from."""
    mirror = Mirror()
    seen: set[tuple[int, int]] = set()
    for number, record in enumerate(records):
        mirror.follow(number, record)
        seen.update((cell.call, cell.row) for cell in mirror.owned.get(watched, {}).values())
    return seen


def swapped(kept: set[tuple[int, int]], vocabulary: int) -> Rewrite:
    """Puts other tokens in place of all but those in `kept`."""

    def rewrite(number: int, tokens: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        other = (tokens * 7 + 13) % (vocabulary - 1) + 1
        mine = np.array([(number, row) in kept for row in range(len(tokens))])
        return np.where(mine, tokens, other).astype(np.int32)

    return rewrite


def assert_same_bits(before: list[Output], after: list[Output], watched: int) -> int:
    """Compare the watched sequence's outputs of two replays; how many there were."""
    compared = 0
    for one, other in zip(before, after, strict=True):
        if one[0] == watched:
            assert one[:2] == other[:2]
            assert np.array_equal(one[2], other[2]), f"sequence {one[0]} at {one[1]}"
            compared += 1
    return compared
