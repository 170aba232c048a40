"""What turning text into ids needs of a loaded vocabulary."""

from typing import Protocol

from app.text.control import ControlTokens
from app.text.stream import Vocabulary


class Tokenizer(Protocol):
    """What is needed of a loaded vocabulary; `bos` is None where it has no such token."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def control(self) -> ControlTokens: ...

    @property
    def bos(self) -> int | None: ...

    @property
    def add_bos(self) -> bool: ...

    def tokenize(self, text: str, *, inside: bool = False) -> list[int]:
        """The ids of `text` as mere text; `inside` when it goes on after other text."""
        ...
