"""A hub in a process of its own, so that what it costs is not the window's: one model of so many MB, and others around it.

python -m tests.e2e.big_hub MEGABYTES    prints its address, and ends when its standard input does
"""

import sys
import tempfile
from pathlib import Path

from tests import tiny_models
from tests.fake_hub import MIB, Content, FakeHub

CARD = (
    b"# Big\n\n"
    + b"A model that takes a while. It has **words**, and:\n\n- a list\n- of things\n\n" * 40
)


class Padded(Content):
    """A model that can be loaded, and noise behind it."""

    def __init__(self, model: bytes, size: int) -> None:
        super().__init__(size)
        self._model = model
        self._sha256 = super().sha256

    @property
    def sha256(self) -> str:
        """Computed once: it is asked for with every answer."""
        return self._sha256

    def read(self, first: int, end: int) -> bytes:
        return self._model[first:end] + super().read(
            max(first, len(self._model)), max(end, len(self._model))
        )


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = tiny_models.talker(Path(folder) / "m.gguf").read_bytes()
    with FakeHub() as hub:
        big = hub.add("a/big-GGUF", README__md=Content(data=CARD))
        big.small = frozenset({"README.md"})
        big.files["big-Q8_0.gguf"] = Padded(model, megabytes * MIB)
        for number in range(60):
            hub.add(f"somebody/big-{number}-GGUF", m_Q8_0__gguf=Content(MIB, number))
        sys.stdout.write(f"{hub.endpoint}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
