"""Keeps answers to their grammars.

What was chosen as for any other answer is checked; only if it is forbidden is the choice made again, among what is
allowed: of the best tokens, or if none of those is, of all.
"""

from collections.abc import Callable, Sequence

from app.engine.backend import Backend
from app.engine.constraint import Constraint
from app.engine.lexicon import Lexicon
from app.wire import Submit

_SHORTLISTS = (64, 1024)
"""How many of the best tokens are looked through before all are.  The second is for where nearly everything is allowed:
there it takes 1 ms, and all of 49,152 tokens some 60."""

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
        seen = 0
        for count in _SHORTLISTS:
            ranked = self._backend.ranked(output, count)
            allowed = constraint.allowed(ranked[seen:])
            if allowed or constraint.exhausted:
                return allowed
            seen = len(ranked)
        return constraint.all_allowed()
