"""What to say of the cache: nothing while it serves well, otherwise why not and what to change; pure."""

from app.chat.model_state import Advice, AdviceKind
from app.counters import Counters

GOOD_SHARE = 0.85
"""Under this share of all prompt tokens from the cache the app says why."""

_ENOUGH_TOKENS = 2000
_ENOUGH_REQUESTS = 8
"""Before that there is nothing to judge: the first message of a chat is always new."""
_NEARLY_ALL, _HARDLY_ANY = 0.95, 0.05


def advice(counters: Counters) -> Advice | None:
    """None where there is nothing to say.

    Nothing is to be said where too little was read to judge, or the share is good.  Else it is what cost the most
    tokens: a chat's prompt changes inside, or the pool or the memory for idle chats is too small; where neither
    cost much, the text is simply new.
    """
    recent = counters.recent
    if recent.requests < _ENOUGH_REQUESTS or recent.prompt < _ENOUGH_TOKENS:
        return None
    if recent.cached >= GOOD_SHARE * recent.prompt:
        return None
    share = f"Of the last {recent.requests} prompts {100 * recent.cached / recent.prompt:.0f} % came from the cache"
    lost = recent.possible - recent.cached
    if recent.moved > max(lost, _HARDLY_ANY * recent.prompt):
        times = "once" if recent.changed == 1 else f"{recent.changed} times"
        return Advice(
            AdviceKind.CHANGING,
            f"{share}. In a chat that went on, the beginning of the prompt had changed ({times}, the last time at "
            f"token {recent.changed_at:,}), so that all behind it was read again. Put what changes, such as dates or "
            "search results, at the end of the prompt.",
        )
    if recent.cached < _NEARLY_ALL * recent.possible:
        return Advice(
            AdviceKind.TOO_SMALL,
            f"{share}. Another {lost:,} tokens had been read before, but had to give way: the pool has room for "
            f"{counters.cells_total:,} tokens, the memory for idle chats for {counters.spill_total >> 20:,} MB. "
            "With more of either they would be kept.",
        )
    return Advice(
        AdviceKind.NEW_TEXT,
        f"{share}. The rest is new text, which has to be read once. Nothing is to be gained.",
    )
