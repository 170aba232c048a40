"""The options that help where a model did not fit into the memory."""

from collections.abc import Sequence
from pathlib import Path

from app.chat.model_state import ModelState
from app.hub import library, words
from app.hub.smaller import smaller
from app.settings import Profile
from app.sizing.planner import Planner
from app.sizing.profiles import Own
from app.sizing.remedies import NOTHING_HELPS, Remedy, RemedyKind, remedies


def advised_options(
    planner: Planner, profile: Profile, own: Own, state: ModelState
) -> Sequence[str]:
    """A line for each way to load what has failed like this, the best first.

    Reads the heads of the models on this machine.
    """
    if state.short_of is None:
        return ()
    attempt = planner.attempt(state.path, state.short_of, profile, own)
    others, least_share = smaller(library.here(), Path(state.path))
    found = [_option(one) for one in remedies(attempt, others, least_share)]
    if not found:
        return [NOTHING_HELPS]
    return [f"{'or' if number else 'What fits'}: {option}" for number, option in enumerate(found)]


def _option(remedy: Remedy) -> str:
    match remedy.kind:
        case RemedyKind.POOL:
            return f"a smaller pool, --ctx {remedy.pool_tokens}"
        case RemedyKind.KV:
            return f"an 8-bit pool, --kv-type q8_0 --ctx {remedy.pool_tokens}"
        case RemedyKind.FILE:
            return f"the smaller {remedy.label} ({words.size(remedy.size)}), --model {remedy.path}"
        case RemedyKind.FIND:
            return "a smaller quantisation of this model; “tutti models search” looks for one"
