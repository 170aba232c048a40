"""Keeps answers to their grammars.

What was chosen as for any other answer is checked; only if it is forbidden is the choice made again, among what is
allowed: of all tokens where few come into question, else of the best ones, and of all if none of those is.
"""

from collections.abc import Callable, Sequence

from app.engine.backend import Backend
from app.engine.constraint import Constraint
from app.engine.lexicon import Lexicon
from app.wire import Submit

_FEW = 512
"""Tokens that are looked through at once, where no more begin with a byte that is allowed."""

_SHORTLISTS = (64, 1024)
"""How many of the best tokens are looked through else, before all are.  With all of 49,152 it takes 40 to 80 ms, but only
where a thousand of the best were wrong although many bytes are allowed."""

_TOO_AMBIGUOUS = "The grammar of this answer is too ambiguous to be followed here: the same text can go on in too many ways."
_DEAD_END = (
    "The answer cannot go on: no token of this model writes anything that its grammar allows here."
)


class Keeper:
    """Of all answers of one backend; what their tokens write is learned once."""

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

    def kept(
        self,
        constraint: Constraint,
        output: int,
        token: int,
        among: Callable[[Sequence[int]], int],
    ) -> tuple[int, str]:
        """`token` if it is allowed, else the one that `among` chooses of those that are; it is taken in.

        With it comes why the answer cannot go on, or "".  `output` is an index into the outputs of the last decode.
        """
        constraint.begin_choice()
        if not constraint.allows(token):
            allowed = self._allowed(constraint, output)
            if not allowed:
                return token, _TOO_AMBIGUOUS if constraint.exhausted else _DEAD_END
            token = among(allowed)
        return token, "" if constraint.take(token) else _TOO_AMBIGUOUS

    def _allowed(self, constraint: Constraint, output: int) -> list[int]:
        few = constraint.candidates(_FEW) if self._lexicon.complete else None
        if few is not None:
            return constraint.allowed(few)
        for count in _SHORTLISTS:
            allowed = constraint.allowed(self._backend.ranked(output, count))
            if allowed or constraint.exhausted:
                return allowed
        return constraint.allowed(constraint.candidates() or ())
