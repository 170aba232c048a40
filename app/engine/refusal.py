"""Why a request cannot be taken; pure."""

from app.engine.backend import BackendInfo
from app.sampling import foreign_bias
from app.wire import Submit


def refusal(submit: Submit, info: BackendInfo) -> str:
    """The reason in words, or "" where it can be taken."""
    if not submit.tokens:
        return "The prompt is empty."
    if min(submit.tokens) < 0 or max(submit.tokens) >= info.vocabulary:
        return "The prompt holds tokens that this model does not have."
    if not 0 <= submit.written < len(submit.tokens):
        return "More of the prompt is said to be the answer than there is."
    foreign = foreign_bias(submit.sampling, info.vocabulary)
    if foreign:
        return foreign
    if len(submit.tokens) >= info.context:
        return (
            f"This needs {len(submit.tokens):,} tokens, but a chat holds at most {info.context:,}."
        )
    return ""
