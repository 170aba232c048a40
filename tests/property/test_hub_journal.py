"""The journal gives back what was written, and nothing of what a crash or a disk made of it."""

from hypothesis import given
from hypothesis import strategies as st

from app.hub import journal
from app.hub.journal import BLOCK, Record, block_count, block_length
from app.hub.remote import RemoteFile

FILE = RemoteFile("m.gguf", 5 * BLOCK + 17, "a" * 64)


def records(file: RemoteFile = FILE) -> st.SearchStrategy[Record]:
    return st.builds(
        lambda index, crc: Record(index, block_length(index, file.size), crc),
        st.integers(0, block_count(file.size) - 1),
        st.integers(0, 2**32 - 1),
    )


def written(items: list[Record]) -> bytes:
    return journal.header(FILE) + b"".join(map(journal.encode, items))


@given(st.lists(records()))
def test_what_was_written_is_read(items: list[Record]) -> None:
    data = written(items)
    assert journal.decode(data, FILE) == ({record.index: record for record in items}, len(data))


@given(st.lists(records(), min_size=1), st.data())
def test_a_torn_journal_keeps_what_came_before(items: list[Record], data: st.DataObject) -> None:
    whole = written(items)
    begin = len(journal.header(FILE))
    length = data.draw(st.integers(begin, len(whole)))
    kept = (length - begin) // journal.RECORD_BYTES
    expected = ({record.index: record for record in items[:kept]}, begin + kept * journal.RECORD_BYTES)  # fmt: skip
    assert journal.decode(whole[:length], FILE) == expected
    # The next run appends behind what counts.
    more = whole[: expected[1]] + journal.encode(items[0])
    assert journal.decode(more, FILE) == (expected[0] | {items[0].index: items[0]}, len(more))


@given(st.lists(records(), min_size=1), st.data())
def test_a_changed_bit_ends_the_journal_there(items: list[Record], data: st.DataObject) -> None:
    whole = bytearray(written(items))
    begin = len(journal.header(FILE))
    bit = data.draw(st.integers(begin * 8, len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << bit % 8
    kept = (bit // 8 - begin) // journal.RECORD_BYTES
    found = journal.decode(bytes(whole), FILE)
    assert found == ({record.index: record for record in items[:kept]}, begin + kept * journal.RECORD_BYTES)  # fmt: skip


@given(st.binary(max_size=300))
def test_anything_else_is_not_a_journal_of_this_file(data: bytes) -> None:
    assert journal.decode(data, FILE) is None


@given(st.lists(records()))
def test_a_journal_of_another_content_does_not_count(items: list[Record]) -> None:
    for other in (RemoteFile("m.gguf", FILE.size, "b" * 64), RemoteFile("m.gguf", FILE.size + 1, FILE.digest)):  # fmt: skip
        assert journal.decode(written(items), other) is None


@given(st.integers(0, 20 * BLOCK))
def test_the_blocks_make_up_the_file(size: int) -> None:
    lengths = [block_length(index, size) for index in range(block_count(size))]
    assert sum(lengths) == size
    assert all(lengths)
    assert block_length(block_count(size), size) == 0
