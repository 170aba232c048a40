"""A deleted chat takes its own states with it, and leaves to the others what theirs go on from."""

from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.backend import TokenArray
from app.engine.blob import Blob, Tip
from app.engine.prefix import common_prefix
from app.engine.states import StateTree

texts = st.lists(st.integers(1, 3), min_size=1, max_size=12).map(lambda v: np.array(v, np.int32))


def save(tokens: TokenArray, start: int, end: int) -> bytes:
    """Bytes that can be recognised: the tokens of the range."""
    return bytes(tokens[start:end].astype(np.uint8))


def cut(blob: Blob, end: int) -> bytes | None:
    return blob.data[: end - blob.start] if blob.data is not None else None


def put(tree: StateTree, tokens: TokenArray, owner: int) -> None:
    tree.put(tokens, lambda start, end: save(tokens, start, end), owner=owner)


def length(tree: StateTree, tokens: TokenArray) -> int:
    found = tree.match(tokens, len(tokens))
    return found[-1].end if found else 0


def text(*parts: tuple[int, int]) -> TokenArray:
    return np.concatenate([np.full(count, value, np.int32) for value, count in parts])


FIRST = text((1, 100))
FORKS = (text((1, 40), (2, 10)), text((1, 60), (3, 10)))


def family(*, exact: bool = False) -> StateTree:
    """Two chats that go on from the middle of a third, which came first."""
    tree = StateTree(10_000, exact=exact)
    put(tree, FIRST, 7)
    for owner, tokens in enumerate(FORKS, start=8):
        put(tree, tokens, owner)
    return tree


def test_what_others_go_on_from_becomes_theirs() -> None:
    tree = family()
    tree.forget_owner(7, cut)
    tree.check()
    assert [length(tree, tokens) for tokens in FORKS] == [50, 70]
    assert length(tree, FIRST) == 60, "the end of the deleted chat is gone"
    assert tree.bytes == 60 + 10 + 10
    assert {blob.owner for blob in tree.blobs()} == {8, 9}
    assert not any((blob.data or b"").count(1) > 60 for blob in tree.blobs())


def test_its_file_goes_and_another_is_written_for_what_stays() -> None:
    tree = family()
    blob = next(blob for blob in tree.blobs() if blob.owner == 7)
    blob.file = Path("7-abc.state")
    tree.forget_owner(7, cut)
    assert tree.dropped == [Path("7-abc.state")]
    assert {(one.start, one.end) for one in tree.unwritten()} == {(0, 60), (40, 50), (60, 70)}


def test_where_the_bytes_cannot_be_had_all_of_it_goes() -> None:
    tree = family()
    tree.forget_owner(7, lambda _blob, _end: None)
    tree.check()
    assert (tree.bytes, tree.blobs()) == (0, [])


def test_whole_states_do_not_need_each_other() -> None:
    tree = StateTree(10_000, exact=True)
    put(tree, text((1, 40)), 7)
    put(tree, FORKS[0], 8)
    tree.forget_owner(7, cut)
    tree.check()
    assert length(tree, FORKS[0]) == 50
    assert length(tree, text((1, 40))) == 0
    assert {blob.owner for blob in tree.blobs()} == {8}


@settings(max_examples=200)
@given(
    puts=st.lists(st.tuples(texts, st.integers(1, 3)), min_size=1, max_size=10),
    owner=st.integers(1, 3),
    exact=st.booleans(),
)
def test_nobody_else_loses_anything_and_nothing_of_it_is_left(
    puts: list[tuple[TokenArray, int]], owner: int, exact: bool
) -> None:
    tree = StateTree(10_000, exact=exact)
    for tokens, whose in puts:
        put(tree, tokens, whose)
    others = [blob.tokens for blob in tree.blobs() if blob.owner != owner]
    before = [length(tree, tokens) for tokens in others]
    tree.forget_owner(owner, cut)
    tree.check()
    assert all(blob.owner != owner for blob in tree.blobs())
    assert [length(tree, tokens) for tokens in others] == before
    for blob in tree.blobs():
        assert blob.data == save(blob.tokens, blob.start, blob.end)


@pytest.mark.parametrize("budget", [0, 20, 60, 200])
def test_the_budget_holds(budget: int) -> None:
    tree = StateTree(budget, exact=False)
    for owner, tokens in enumerate((FIRST, *FORKS), start=7):
        put(tree, tokens, owner)
    tree.forget_owner(7, cut)
    tree.check()


@pytest.mark.parametrize(
    "spilled", [text((4, 190)), text((1, 100), (4, 100)), text((1, 30), (4, 60))]
)
@pytest.mark.parametrize("budget", [120, 130, 200])
def test_what_a_cut_drops_or_adds_is_seen(budget: int, spilled: TokenArray) -> None:
    """To cut, the pool may spill a chat, whose state takes the place of others'."""
    tree = StateTree(budget, exact=False)
    for owner, tokens in enumerate((FIRST, *FORKS), start=7):
        put(tree, tokens, owner)

    def spill_and_cut(blob: Blob, end: int) -> bytes | None:
        data = cut(blob, end)
        put(tree, spilled, 10)
        return data

    tree.forget_owner(7, spill_and_cut)
    tree.check()
    assert all(blob.owner != 7 for blob in tree.blobs())
    for blob in tree.blobs():
        assert blob.data == save(blob.tokens, blob.start, blob.end)
    assert not length(tree, FIRST) > max(common_prefix(FIRST, one) for one in (*FORKS, spilled))


def test_a_state_that_makes_room_for_its_own_bytes_is_not_counted() -> None:
    tree = StateTree(100, exact=False)
    put(tree, text((1, 60)), 7)
    blob = tree.blobs()[0]
    kept, blob.data, blob.file = blob.data, None, Path("7-abc.state")
    tree.bytes = 0
    put(tree, text((2, 90)), 8)
    assert tree.data_of(blob, lambda _path: kept) == kept
    tree.check()


@given(
    st.lists(st.tuples(texts, st.integers(0, 3), st.booleans()), max_size=12),
    st.permutations((1, 2, 3)),
    st.booleans(),
)
def test_no_file_outlives_its_chats(
    kept: list[tuple[TokenArray, int, bool]], order: list[int], exact: bool
) -> None:
    """What is nobody's is written only as the beginning of a chat's state, and then belongs to that chat."""
    tree = StateTree(10_000, exact=exact)
    files: dict[Path, Blob] = {}
    numbers = count()

    def write() -> None:
        for blob in tree.unwritten():
            assert blob.owner
            blob.file = Path(f"{blob.owner}-{next(numbers)}.state")
            files[blob.file] = blob

    def delete() -> None:
        while tree.dropped:
            del files[tree.dropped.pop()]

    for tokens, owner, written in kept:
        put(tree, tokens, owner)
        if written:
            write()
    write()
    for owner in order:
        tree.forget_owner(owner, cut)
        delete()
        assert all(blob.owner != owner for blob in files.values())
        write()
    assert not files


def test_a_whole_state_is_written_without_those_that_it_goes_on_from() -> None:
    tree = StateTree(10_000, exact=True)
    put(tree, text((1, 40)), 0)
    put(tree, FORKS[0], 8)
    assert [blob.owner for blob in tree.unwritten()] == [8]


@given(
    puts=st.lists(st.tuples(texts, st.integers(0, 12)), min_size=1, max_size=10),
    damaged=st.integers(0, 9),
)
def test_a_whole_state_that_is_damaged_takes_no_other_with_it(
    puts: list[tuple[TokenArray, int]], damaged: int
) -> None:
    """Chats go on from each other's checkpoints, but none needs another's bytes."""
    tree = StateTree(10_000, exact=True)
    for tokens, at in puts:
        tips = (Tip(at, b"tip"),) if 0 < at < len(tokens) else ()
        tree.put(tokens, partial(save, tokens), tips)
    blobs = tree.blobs()
    gone = blobs.pop(damaged % len(blobs))
    tree.forget(gone)
    tree.check()
    assert {id(blob) for blob in tree.blobs()} == {id(blob) for blob in blobs}
    assert all(tree.holds(blob.tokens) for blob in blobs)
