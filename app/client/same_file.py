"""The file of a loaded model, for all processes that are started for it, one after another or side by side.

The engine and each text worker open it by its path, and find there whatever lies there by then: the tokens of one file mean
other words to another, or none.
"""

from app.errors import ModelError
from app.wire import Loaded, VocabularyLoaded


class SameFile:
    """Of one load of a model."""

    def __init__(self) -> None:
        self._known = ""

    def check(self, loaded: Loaded | VocabularyLoaded) -> None:
        """The first one is the one; raises ModelError for another."""
        if not self._known:
            self._known = loaded.fingerprint
        elif loaded.fingerprint != self._known:
            raise ModelError("The model's file has changed since it was loaded.", "Load it again.")
