"""The next token of every sequence with an output.

Greedy ones are chosen all at once, the others each by its own sampler.  An answer that has to keep a grammar is chosen
for like any other, and what was chosen is checked; only if it is forbidden is the choice made again among what is
allowed: of the best tokens, or if none of those is, of all.
"""

from collections.abc import Iterator
from collections.abc import Sequence as Seq

from app.engine.backend import Backend
from app.engine.constraint import Constraint
from app.engine.lexicon import Lexicon
from app.engine.sequence import Sequence
from app.wire import Submit

_SHORTLISTS = (64, 1024)
"""How many of the best tokens are looked through before all are.  The second is for where nearly everything is allowed:
there it takes 1 ms, and all of 49,152 tokens some 60."""

TOO_AMBIGUOUS = (
    "The grammar of this answer is too ambiguous to be followed here: the same text can go on in too many ways."
)
DEAD_END = (
    "The answer cannot go on: no token of this model writes anything that its grammar allows here."
)


def why_stuck(sequence: Sequence) -> str:
    """Why there was no token for this answer, in words."""
    constraint = sequence.constraint
    return TOO_AMBIGUOUS if constraint is not None and constraint.exhausted else DEAD_END


class Choice:
    """Chooses from the logits of the backend's last decode."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._ends = frozenset(backend.info.end_tokens)
        self._lexicon = Lexicon(backend.piece, backend.info.vocabulary)

    def constraint(self, submit: Submit) -> Constraint | None:
        """What this request's answer has to keep, as far as it was written before; None without a grammar."""
        if submit.grammar is None:
            return None
        ends = self._ends.union(submit.end_tokens)
        written = submit.tokens[len(submit.tokens) - submit.written :]
        return Constraint(submit.grammar, self._lexicon, ends, written)

    def choose(self, outputs: Seq[tuple[Sequence, int]]) -> Iterator[tuple[Sequence, int | None]]:
        """The token of each, None where none is allowed; `outputs` gives each sequence its batch row."""
        greedy = [(index, seq) for index, (seq, _) in enumerate(outputs) if seq.sampler.greedy]
        best = self._backend.argmax(
            [index for index, _ in greedy],
            ban_ends=[sequence.submit.ignore_eos for _, sequence in greedy],
        )
        for (index, sequence), token in zip(greedy, best, strict=True):
            if sequence.constraint is None:
                yield sequence, token
            else:
                yield sequence, self._checked(sequence, sequence.constraint, index, None, token)
        for index, (sequence, row) in enumerate(outputs):
            if sequence.sampler.greedy:
                continue
            if sequence.constraint is None:
                yield sequence, sequence.sampler.sample(row)
            else:
                token = sequence.sampler.propose(row)
                chosen = self._checked(sequence, sequence.constraint, index, row, token)
                if chosen is not None:
                    sequence.sampler.remember(chosen)
                yield sequence, chosen

    def _checked(
        self, sequence: Sequence, constraint: Constraint, index: int, row: int | None, token: int
    ) -> int | None:
        """`token` if it is allowed, else one that is; it is taken in."""
        constraint.begin_choice()
        if not constraint.allows(token):
            allowed = self._allowed(constraint, index)
            if not allowed:
                return None
            if row is None:
                token = self._backend.best_of(index, allowed)
            else:
                token = sequence.sampler.among(row, allowed)
        return token if constraint.take(token) else None

    def _allowed(self, constraint: Constraint, index: int) -> list[int]:
        seen = 0
        for count in _SHORTLISTS:
            ranked = self._backend.ranked(index, count)
            allowed = constraint.allowed(ranked[seen:])
            if allowed or constraint.exhausted:
                return allowed
            seen = len(ranked)
        return constraint.all_allowed()
