"""The next token of every sequence that a decode gave logits for."""

from collections.abc import Sequence as Seq
from typing import NamedTuple

from app.engine.backend import Backend
from app.engine.likelihood import LogArray, told
from app.engine.sequence import Sequence
from app.sampling import LogProbs


class Choice(NamedTuple):
    """What was chosen for a sequence; `logprobs` where it asked for them."""

    sequence: Sequence
    token: int
    logprobs: LogProbs | None = None


def choose(backend: Backend, outputs: Seq[tuple[Sequence, int]]) -> list[Choice]:
    """`outputs` gives each sequence its batch row.  Plain greedy ones are chosen all at once, and come first."""
    # Before any choice, for choosing may change the logits.
    chances = {
        sequence.id: backend.log_probabilities(index)
        for index, (sequence, _) in enumerate(outputs)
        if sequence.submit.top_logprobs is not None
    }
    greedy = [(index, seq) for index, (seq, _) in enumerate(outputs) if seq.sampler.greedy]
    best = backend.argmax(
        [index for index, _ in greedy],
        ban_ends=[sequence.submit.ignore_eos for _, sequence in greedy],
    )
    chosen = [(sequence, token) for (_, sequence), token in zip(greedy, best, strict=True)]
    chosen += [
        (sequence, sequence.sampler.sample(row))
        for sequence, row in outputs
        if not sequence.sampler.greedy
    ]
    return [
        Choice(sequence, token, _logprobs(sequence, token, chances.get(sequence.id)))
        for sequence, token in chosen
    ]


def _logprobs(sequence: Sequence, token: int, chances: LogArray | None) -> LogProbs | None:
    most = sequence.submit.top_logprobs
    return None if chances is None or most is None else told(chances, token, most)
