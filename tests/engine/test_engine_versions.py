"""A chat in several versions reads at most one token beyond what is new, on every kind of memory, and answers right.

Regenerate, edit, branch and return to an old version are requests like any other; what makes them cheap is what the
pool keeps of the chat.  Each is compared with a fresh engine, too.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from app.sampling import Sampling
from app.wire import Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig

KINDS = tuple(tiny_models.KINDS)
GREEDY = Sampling(temperature=0)
TURNS = 6
ANSWER = 8

Tokens = tuple[int, ...]


def text(seed: int, count: int) -> Tokens:
    return tuple(int(token) for token in np.random.default_rng(seed).integers(1, 256, count))


SYSTEM = text(0, 90)


@dataclass
class Chat:
    """A conversation as the client asks it: the marks are where its user messages begin."""

    rig: Rig
    number: int = 0
    marks: list[int] = field(default_factory=list)
    tokens: Tokens = SYSTEM
    before: list[Tokens] = field(default_factory=list)

    def ask(self, message: Tokens) -> tuple[Tokens, int]:
        """The answer, and the number of tokens that were read for it."""
        self.before.append(self.tokens)
        self.marks.append(len(self.tokens))
        return self.send((*self.tokens, *message), self.marks)

    def again(self, turn: int, message: Tokens) -> tuple[Tokens, int]:
        """Turn `turn` with this message, in place of what came there; later turns are left out."""
        start = self.before[turn]
        return self.send((*start, *message), self.marks[: turn + 1])

    def send(self, prompt: Tokens, marks: list[int]) -> tuple[Tokens, int]:
        self.number += 1
        steps = self.rig.steps
        read = steps[-1].counters.read if steps else 0
        self.rig.engine.submit(
            Submit(
                self.number,
                prompt,
                GREEDY,
                max_tokens=ANSWER,
                ignore_eos=True,
                marks=tuple(marks),
                owner=1,
            )
        )
        self.rig.run()
        answer = tuple(self.rig.tokens(self.number))
        self.tokens = (*prompt, *answer)
        return answer, self.rig.steps[-1].counters.read - read


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[0, 64 << 20], ids=["no spill", "spill"])
def chat(
    kind: str, request: pytest.FixtureRequest, tiny_files: dict[str, Path], make_rig: MakeRig
) -> Chat:
    """A chat of six turns."""
    chat = Chat(make_rig(tiny_files[kind], pool_tokens=2048, spill_bytes=request.param))
    for turn in range(TURNS):
        message = text(10 + turn, 20)
        _, read = chat.ask(message)
        # The last token of an answer was never evaluated.
        assert read <= len(message) + 1 + (len(SYSTEM) if turn == 0 else 0)
    return chat


@pytest.mark.parametrize("turn", range(TURNS))
def test_regenerate(chat: Chat, turn: int) -> None:
    """The same message again evaluates one token; twice, too."""
    first = chat.send(chat.before[turn] + text(10 + turn, 20), chat.marks[: turn + 1])
    second = chat.again(turn, text(10 + turn, 20))
    assert first[1] <= 1
    assert second[1] <= 1
    assert first[0] == second[0]


@pytest.mark.parametrize("turn", range(TURNS))
def test_edit(chat: Chat, turn: int, kind: str, fresh: "Fresh") -> None:
    """Another message in the place of an old one: only the message is read."""
    message = text(50 + turn, 25)
    answer, read = chat.again(turn, message)
    assert read <= len(message) + 1
    assert answer == fresh.answer(kind, chat.before[turn] + message)


@pytest.mark.parametrize("turn", [1, 3])
def test_branch_and_return(chat: Chat, turn: int, kind: str, fresh: "Fresh") -> None:
    """A branch of two turns from the middle; then the old version goes on, then the branch."""
    old = chat.tokens
    message = text(60, 15)
    chat.again(turn, message)
    branch = chat.tokens
    _, read = chat.send((*branch, *text(61, 15)), [*chat.marks[: turn + 1], len(branch)])
    assert read <= 15 + 1
    branch = chat.tokens
    answer, read = chat.send((*old, *text(62, 15)), [*chat.marks, len(old)])
    assert read <= 15 + 1
    assert answer == fresh.answer(kind, (*old, *text(62, 15)))
    answer, read = chat.send((*branch, *text(63, 15)), [len(branch)])
    assert read <= 15 + 1
    assert answer == fresh.answer(kind, (*branch, *text(63, 15)))


def test_a_new_chat_of_the_same_instructions(chat: Chat, kind: str, fresh: "Fresh") -> None:
    message = text(70, 12)
    answer, read = chat.send((*SYSTEM, *message), [len(SYSTEM)])
    assert read <= len(message) + 1
    assert answer == fresh.answer(kind, (*SYSTEM, *message))


class Fresh:
    """What an engine answers that holds nothing yet."""

    def __init__(self, files: dict[str, Path], make_rig: MakeRig) -> None:
        self._files = files
        self._make_rig = make_rig

    def answer(self, kind: str, prompt: Tokens) -> Tokens:
        rig = self._make_rig(self._files[kind], pool_tokens=2048)
        return Chat(rig).send(prompt, [])[0]


@pytest.fixture
def fresh(tiny_files: dict[str, Path], make_rig: MakeRig) -> Fresh:
    return Fresh(tiny_files, make_rig)
