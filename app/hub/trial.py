"""Whether a hub can be reached by this address and proxy, and whose a token is: said in words."""

from dataclasses import replace

from app.errors import HubError, HubProblem
from app.hub import access as hub_access
from app.hub import names
from app.hub.access import Access
from app.hub.line import QUICK, Line, Waits
from app.hub.wishes import Verdict


class Trial:
    """Runs once, on the caller's thread; `cut` ends it from any thread.

    The hub is first asked without the token: a token that is wrong then does not look like a hub that is.
    """

    def __init__(self, access: Access, waits: Waits = QUICK) -> None:
        """Raises HubError for an access that cannot be used."""
        self._access = hub_access.checked(access)
        self._bare = Line(replace(access, token=""), waits)
        self._named = Line(access, waits)

    def cut(self) -> None:
        self._bare.cut()
        self._named.cut()

    def close(self) -> None:
        self._bare.close()
        self._named.close()

    def run(self) -> Verdict:
        """Ask; raises only Cut."""
        try:
            reached = self._reach()
        except HubError as error:
            return Verdict(good=False, words=str(error))
        if not self._access.token:
            return Verdict(
                good=True, words=f"{reached} Without a token it gives what is open to all."
            )
        try:
            return Verdict(good=True, words=f"{reached} {self._owner()}")
        except HubError as error:
            return Verdict(good=False, words=f"{reached} {error}")

    def _reach(self) -> str:
        asked = {"filter": "gguf", "limit": "1"}
        answer = self._bare.get(f"{self._access.endpoint}/api/models", dict(asked))
        if not isinstance(answer.json(self._access), list):
            raise HubError(
                f"{self._access.host} answers, but not as a model hub does.",
                "Check the address.",
                problem=HubProblem.PROTOCOL,
            )
        return f"{self._access.host} answers."

    def _owner(self) -> str:
        try:
            raw = self._named.get(f"{self._access.endpoint}/api/whoami-v2").json(self._access)
        except HubError as error:
            if error.problem is not HubProblem.NOT_FOUND:
                raise
            raw = None  # a mirror need not know anybody
        name = raw.get("name") if isinstance(raw, dict) else None
        if not isinstance(name, str) or not name:
            return "It does not say whose the token is."
        return f"The token belongs to {names.shown(name, 60)}."
