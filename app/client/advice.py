"""What to say of the cache: nothing while it serves well, otherwise why not and what to change; pure."""

from app.wire import Counters

GOOD_SHARE = 0.85
"""Under this share of all prompt tokens from the cache the app says why."""

_ENOUGH_TOKENS = 2000
_NEARLY_ALL = 0.95


def advice(counters: Counters) -> str:
    """One or two sentences, or "" when there is nothing to say.

    The reasons, in this order: too little was read to judge; the share is good; a chat's prompt changes inside;
    the pool or the memory for saved chats is too small; the text is simply new.
    """
    recent = counters.recent
    if recent.prompt < _ENOUGH_TOKENS or recent.cached >= GOOD_SHARE * recent.prompt:
        return ""
    share = f"{100 * recent.cached / recent.prompt:.0f} % of the prompt tokens came from the cache"
    if recent.changed:
        return (
            f"{share}: in {recent.changed} of the last requests the beginning of the prompt had changed, the last "
            f"time at token {recent.changed_at:,}. Keep what changes (dates, search results) at the end."
        )
    if recent.cached < _NEARLY_ALL * recent.possible:
        lost = recent.possible - recent.cached
        return (
            f"{share}: {lost:,} more were read before, but had to give way. A larger pool, or more memory for saved "
            "chats, would keep them."
        )
    return f"{share}: the rest is new text, which has to be read once. Nothing is to be gained."
