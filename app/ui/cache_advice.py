"""Why little came from the cache, said in a notice; what helps can be done at once."""

from collections.abc import Callable

from app.chat.model_state import Advice, AdviceKind
from app.ui.banner import Banner, Notice


class CacheAdvice:
    """One notice at a time.  `open_settings` is where a larger pool can be had."""

    def __init__(self, banner: Banner, open_settings: Callable[[], None]) -> None:
        self._banner = banner
        self._open_settings = open_settings
        self._notice: Notice | None = None

    def show(self, advice: Advice) -> None:
        """Say this instead of what was said before."""
        helps = advice.kind is AdviceKind.TOO_SMALL
        if self._notice is not None:
            self._banner.withdraw(self._notice)
        self._notice = Notice(
            advice.text,
            "info",
            "Settings" if helps else "",
            act=self._open_settings if helps else None,
        )
        self._banner.post(self._notice)
