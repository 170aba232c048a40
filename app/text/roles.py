"""Conversations rearranged for templates that insist on something. Pure.

A template may refuse a system message, two equal roles in a row or an assistant that speaks first.  `variants`
gives the conversation as it is and then, one by one, what such templates accept; no text is ever left out.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from app.dialogue import ChatLine


@dataclass(frozen=True, slots=True)
class Turn:
    """One message for a template: the contents of these lines of the conversation, joined by a blank line."""

    role: str
    lines: tuple[int, ...]


Turns = tuple[Turn, ...]


def variants(lines: Sequence[ChatLine]) -> Iterator[Turns]:
    """The conversation as it is, then its rearrangements from the mildest to the harshest; no repetition."""
    plain = tuple(Turn(line.role, (index,)) for index, line in enumerate(lines))
    # A call and its result are known by their places.
    apart = {index for index, line in enumerate(lines) if line.calls or line.role == "tool"}
    merged = _merge(plain, apart)
    folded = _merge(_fold_system(plain), apart)
    seen: list[Turns] = []
    for turns in (plain, merged, _open_by_user(merged), folded, _open_by_user(folded)):
        if turns not in seen:
            seen.append(turns)
            yield turns


def _merge(turns: Turns, apart: Set[int]) -> Turns:
    """Neighbours with the same role become one, but for those with these lines."""
    merged: list[tuple[str, list[int]]] = []
    may_grow = False
    for turn in turns:
        may_join = apart.isdisjoint(turn.lines)
        if may_grow and may_join and merged[-1][0] == turn.role:
            merged[-1][1].extend(turn.lines)
        else:
            merged.append((turn.role, [*turn.lines]))
        may_grow = may_join
    return tuple(Turn(role, tuple(lines)) for role, lines in merged)


def _fold_system(turns: Turns) -> Turns:
    """System messages are spoken by the user."""
    return tuple(Turn("user", turn.lines) if turn.role == "system" else turn for turn in turns)


def _open_by_user(turns: Turns) -> Turns:
    """An empty user message goes before an assistant that speaks first."""
    first = next((index for index, turn in enumerate(turns) if turn.role != "system"), None)
    if first is None or turns[first].role != "assistant":
        return turns
    return (*turns[:first], Turn("user", ()), *turns[first:])
