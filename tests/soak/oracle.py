"""An undisturbed engine of one's own: is every character of a greedy answer the best one after those before it?

The answer is given to the model again, token by token, by itself in an empty pool.  Other cuts into decode calls round
otherwise, so that the token that was written may be a hair's breadth behind the best one; a state that is wrong, or a
token that is missing or doubled, is off by much more.
"""

from pathlib import Path
from typing import Any

import numpy as np

from app import llama
from app.engine.backend import Batch
from app.engine.context import LlamaBackend
from app.engine.model import Model
from app.wire import LoadParams, Submit

CLOSE = 0.75
"""How far behind the best logit (about 20 above the mean) that of the written token may be."""


class Oracle:
    """One model; `close` frees it."""

    def __init__(self, path: Path, tokens: int = 4096) -> None:
        api: Any = llama.load()
        params = LoadParams(str(path), pool_tokens=tokens, sequences=1, batch=256, threads=1)
        self._model = Model(api, params, llama.NativeLog(api), lambda _: True)
        self._backend = LlamaBackend(api, self._model, params)

    def worst(self, submit: Submit, text: str) -> tuple[float, int]:
        """How far the worst of all characters is behind the best that could have come, and where that is."""
        self._backend.remove(0, 0, None)
        prompt = list(submit.tokens)
        for start in range(0, len(prompt), 256):
            self._decode(prompt[start : start + 256], start)
        worst = (0.0, 0)
        for place, token in enumerate(text.encode("ascii")):
            logits = self._backend.logits_of(0)
            worst = max(worst, (float(logits.max() - logits[token]), place))
            self._decode([token], len(prompt) + place)
        return worst

    def _decode(self, tokens: list[int], start: int) -> None:
        count = len(tokens)
        outputs = np.zeros(count, np.int8)
        outputs[-1] = 1
        batch = Batch(
            np.array(tokens, np.int32),
            np.arange(start, start + count, dtype=np.int32),
            np.zeros(count, np.int32),
            outputs,
        )
        assert self._backend.decode(batch) == 0

    def close(self) -> None:
        self._backend.close()
        self._model.close()
