"""Which tokens hold a breaker."""

import asyncio
from array import array

from hypothesis import given
from hypothesis import strategies as st

from app.client.breakers import Breakers, flags
from app.sampling import Sampling
from app.text.stream import Vocabulary


def vocabulary(pieces: list[bytes]) -> Vocabulary:
    ends = array("I")
    for piece in pieces:
        ends.append((ends[-1] if ends else 0) + len(piece))
    return Vocabulary(b"".join(pieces), ends.tobytes())


def flagged(found: bytes, count: int) -> list[int]:
    return [token for token in range(count) if found[token >> 3] & (0x80 >> (token & 7))]


@given(
    st.lists(st.text("ab\n", max_size=4).map(str.encode), min_size=1, max_size=20),
    st.lists(st.text("ab\n", min_size=1, max_size=3), max_size=3),
)
def test_a_token_is_flagged_if_it_has_one_of_the_texts_in_it(
    pieces: list[bytes], texts: list[str]
) -> None:
    found = flags(vocabulary(pieces), tuple(texts))
    expected = [
        token for token, piece in enumerate(pieces) if any(text.encode() in piece for text in texts)
    ]
    assert flagged(found, len(pieces)) == expected
    assert len(found) == (len(pieces) + 7) // 8


def test_nothing_is_searched_where_dry_is_off_and_the_rest_once() -> None:
    class Counted(Vocabulary):
        searched = 0

        def holding(self, text):  # type: ignore[no-untyped-def]
            self.searched += 1
            return super().holding(text)

    made = Counted(b"a\n", array("I", [1, 2]).tobytes())
    breakers = Breakers(made)
    on = Sampling(dry_multiplier=1.0, dry_sequence_breakers=("\n",))

    async def scenario() -> None:
        assert await breakers.of(Sampling()) == b""
        assert await breakers.of(Sampling(dry_multiplier=1.0, dry_sequence_breakers=())) == b""
        assert made.searched == 0
        for _ in range(3):
            assert flagged(await breakers.of(on), 2) == [1]
        assert made.searched == 1

    asyncio.run(scenario())
