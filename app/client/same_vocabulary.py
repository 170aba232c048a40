"""The vocabulary of a loaded model, for all text workers that are started for it, one after another or side by side.

The engine keeps the file that it opened; a worker that is started later finds at the same path whatever lies there by
then, and its tokens would mean other words to the engine, or none.
"""

from app.errors import TextError
from app.wire import VocabularyLoaded


class SameVocabulary:
    """Of one load of a model."""

    def __init__(self) -> None:
        self._known: tuple[bytes, bytes] | None = None

    def check(self, loaded: VocabularyLoaded) -> None:
        """The first one is the one; raises TextError for another."""
        vocabulary = loaded.pieces, loaded.ends
        if self._known is None:
            self._known = vocabulary
        elif vocabulary != self._known:
            raise TextError("The model's file has changed since it was loaded.", "Load it again.")
