"""The tree of saved states against a plain list of what was put into it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.blob import Segment
from app.engine.prefix import common_prefix
from app.engine.states import StateTree

texts = st.lists(st.integers(1, 3), min_size=1, max_size=12).map(lambda v: np.array(v, np.int32))


def save(tokens: np.ndarray, start: int, end: int) -> bytes:
    """Bytes that can be recognised: the tokens of the range."""
    return bytes(tokens[start:end].astype(np.uint8))


def read(segments: list[Segment]) -> list[int]:
    """The tokens that the segments' bytes stand for; each follows the one before it."""
    found: list[int] = []
    for segment in segments:
        assert segment.start == len(found) or segment.start == 0
        found = found[: segment.start]
        blob = segment.blob
        found += blob.data[segment.start - blob.start : segment.end - blob.start]
    return found


@settings(max_examples=150)
@given(puts=st.lists(texts, max_size=12), wanted=texts, exact=st.booleans())
def test_a_match_is_right_and_the_longest(
    puts: list[np.ndarray], wanted: np.ndarray, exact: bool
) -> None:
    tree = StateTree(10_000, exact=exact)
    for tokens in puts:
        tree.put(tokens, lambda start, end, tokens=tokens: save(tokens, start, end))
        tree.check()
    most = len(wanted)
    found = tree.match(wanted, most)
    assert read(found) == wanted[: len(read(found))].tolist()
    if exact:
        fits = [len(t) for t in puts if len(t) <= most and common_prefix(t, wanted) == len(t)]
    else:
        fits = [common_prefix(tokens, wanted) for tokens in puts]
    assert len(read(found)) == max(fits, default=0)


@settings(max_examples=150)
@given(
    puts=st.lists(texts, min_size=1, max_size=20),
    budget=st.integers(0, 40),
    exact=st.booleans(),
    forget=st.integers(0, 19),
)
def test_the_budget_holds_and_what_is_left_is_right(
    puts: list[np.ndarray], budget: int, exact: bool, forget: int
) -> None:
    tree = StateTree(budget, exact=exact)
    for number, tokens in enumerate(puts):
        tree.put(tokens, lambda start, end, tokens=tokens: save(tokens, start, end))
        tree.check()
        if number == forget:
            for segment in tree.match(tokens, len(tokens)):
                tree.forget(segment.blob)
            tree.check()
    for tokens in puts:
        found = read(tree.match(tokens, len(tokens)))
        assert found == tokens[: len(found)].tolist()


def test_a_shared_beginning_is_saved_once() -> None:
    tree = StateTree(10_000, exact=False)
    first = np.arange(100, dtype=np.int32)
    for tail in range(5):
        tokens = np.concatenate([first, np.array([200 + tail, 1], np.int32)])
        tree.put(tokens, lambda start, end, tokens=tokens: bytes(end - start))
    assert tree.bytes == 100 + 5 * 2


def test_the_least_recently_used_leaf_goes_first() -> None:
    tree = StateTree(30, exact=False)
    texts = [np.full(10, value, np.int32) for value in (1, 2, 3)]
    for tokens in texts:
        tree.put(tokens, lambda start, end: bytes(end - start))
    tree.match(texts[0], 10)
    tree.put(np.full(10, 4, np.int32), lambda start, end: bytes(end - start))
    assert [bool(tree.match(tokens, 10)) for tokens in texts] == [True, False, True]
