"""Where a token that a grammar allows is looked for when the chosen one is not: as far as needed, and no farther."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from app.engine.fake import FakeBackend
from app.engine.keeping import Keeper
from app.sampling import Sampling
from app.wire import Submit
from tests.grammars import gbnf

SIZE = 6_000


class Wide(FakeBackend):
    """Token i is the i-th best, and writes "i-" but where `pieces` says otherwise."""

    def __init__(self, pieces: dict[int, bytes]) -> None:
        super().__init__()
        self.info = replace(self.info, vocabulary=SIZE)
        self.pieces = pieces
        self.looked: list[int] = []

    def ranked(self, row: int, count: int) -> list[int]:
        self.looked.append(count)
        return list(range(min(count, SIZE)))

    def piece(self, token: int) -> bytes:
        return self.pieces.get(token, f"{token}-".encode())


@dataclass
class Kept:
    """What came of a token that was chosen, and what there was to choose among in its place."""

    token: int
    why: str
    offered: list[int] = field(default_factory=list)


def kept(backend: Wide, source: str, token: int, *, learned: bool = True) -> Kept:
    keeper = Keeper(backend)
    if learned:
        keeper._lexicon.learn(SIZE)
    constraint = keeper.constraint(Submit(1, (1,), Sampling(), grammar=gbnf(source)))
    assert constraint is not None
    offered: list[int] = []

    def first(tokens: Sequence[int]) -> int:
        offered.extend(tokens)
        return tokens[0]

    return Kept(*keeper.kept(constraint, 0, token, first), offered)


FIGURES = 'root ::= [0-9]+ "a"'


@pytest.mark.parametrize("learned", [True, False])
def test_what_is_allowed_is_kept_without_a_look_at_others(learned: bool) -> None:
    backend = Wide({42: b"42a"})
    assert kept(backend, FIGURES, 42, learned=learned) == Kept(42, "")
    assert backend.looked == []


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize(("good", "looked"), [(40, [64]), (700, [64, 1024]), (5_000, [64, 1024])])
def test_it_is_looked_for_among_the_best_then_among_more_then_among_all(
    good: int, looked: list[int], learned: bool
) -> None:
    """Every token begins with a figure, as all texts of the grammar do."""
    backend = Wide({good: f"{good}a".encode()})
    assert kept(backend, FIGURES, 1, learned=learned) == Kept(good, "", [good])
    assert backend.looked == looked


def test_where_few_come_into_question_all_of_them_are_offered() -> None:
    backend = Wide({5_001: b"abc", 5_002: b"a", 5_003: b"ax"})
    assert kept(backend, 'root ::= "a" [a-d]+', 1) == Kept(5_001, "", [5_001, 5_002])
    assert backend.looked == []


def test_that_nothing_is_allowed_is_told_in_words() -> None:
    found = kept(Wide({}), 'root ::= "z"', 1)
    assert "no token of this model" in found.why
    assert found.offered == []
