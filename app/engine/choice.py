"""The next token of every sequence that a decode gave logits for."""

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from functools import partial
from typing import NamedTuple

from app.engine.backend import Backend
from app.engine.keeping import Keeper
from app.engine.likelihood import LogArray, told
from app.engine.sequence import Sequence
from app.sampling import LogProbs


class Choice(NamedTuple):
    """What was chosen for a sequence; `logprobs` where it asked for them.

    `stuck` says why the answer cannot go on, and the token does not count, or is "".
    """

    sequence: Sequence
    token: int
    logprobs: LogProbs | None = None
    stuck: str = ""


def choose(backend: Backend, keeper: Keeper, outputs: Seq[tuple[Sequence, int]]) -> list[Choice]:
    """`outputs` gives each sequence its batch row.  Plain greedy ones are chosen all at once, and come first."""
    # Before any choice, for choosing may change the logits.
    chances = {
        sequence.id: backend.log_probabilities(index)
        for index, (sequence, _) in enumerate(outputs)
        if sequence.submit.top_logprobs is not None
    }
    chosen = [*_greedy(backend, keeper, outputs), *_sampled(keeper, outputs)]
    return [
        Choice(sequence, token, _logprobs(sequence, token, chances.get(sequence.id)), stuck)
        for sequence, token, stuck in chosen
    ]


_Chosen = Iterator[tuple[Sequence, int, str]]


def _greedy(backend: Backend, keeper: Keeper, outputs: Seq[tuple[Sequence, int]]) -> _Chosen:
    greedy = [(index, seq) for index, (seq, _) in enumerate(outputs) if seq.sampler.greedy]
    best = backend.argmax(
        [index for index, _ in greedy],
        ban_ends=[sequence.submit.ignore_eos for _, sequence in greedy],
    )
    for (index, sequence), token in zip(greedy, best, strict=True):
        if sequence.constraint is None:
            yield sequence, token, ""
        else:
            among = partial(backend.best_of, index)
            yield sequence, *keeper.kept(sequence.constraint, index, token, among)


def _sampled(keeper: Keeper, outputs: Seq[tuple[Sequence, int]]) -> _Chosen:
    for index, (sequence, row) in enumerate(outputs):
        sampler = sequence.sampler
        if sampler.greedy:
            continue
        if sequence.constraint is None:
            yield sequence, sampler.sample(row), ""
        else:
            proposed, among = sampler.propose(row), partial(sampler.among, row)
            token, stuck = keeper.kept(sequence.constraint, index, proposed, among)
            sampler.remember(token)
            yield sequence, token, stuck


def _logprobs(sequence: Sequence, token: int, chances: LogArray | None) -> LogProbs | None:
    most = sequence.submit.top_logprobs
    return None if chances is None or most is None else told(chances, token, most)
