"""How likely each token was by the model alone, before any sampler.  Pure; for requests that ask for it."""

import numpy as np
import numpy.typing as npt

from app.sampling import LogProbs

LogArray = npt.NDArray[np.float32]


def log_softmax(logits: LogArray) -> LogArray:
    """The natural logarithms of the chances of one row; a copy."""
    found: LogArray = logits - logits.max()
    found -= np.log(np.exp(found).sum(dtype=np.float64)).astype(np.float32)
    return found


def told(chances: LogArray, token: int, most: int) -> LogProbs:
    """Of the token that was chosen, and of the `most` likeliest, best first and of equal ones the lower id first."""
    most = min(most, len(chances))
    if most <= 0:
        return LogProbs(float(chances[token]))
    # Only as good as the last of the best: which of several equals comes in is theirs to decide.
    best = np.argpartition(chances, -most)[-most:]
    best = best[np.lexsort((best, -chances[best]))]
    return LogProbs(float(chances[token]), tuple(best.tolist()), tuple(chances[best].tolist()))
