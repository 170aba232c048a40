"""Words for whatever goes wrong between this machine and a hub: what, why, and what to do."""

import email.utils
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC

import httpx2
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils._http import parse_ratelimit_headers

from app.errors import HubError, HubProblem
from app.hub import names, words
from app.hub.access import Access

_LONGEST_WAIT = 24 * 3600.0
_BAD_TOKEN = "Invalid credentials in Authorization header"


def told(error: Exception, access: Access, repo: str = "") -> HubError:
    """The error of a request about `repo`, in words."""
    if isinstance(error, HubError):
        return error
    if isinstance(error, HfHubHTTPError):
        return _refused(error, access, names.shown(repo))
    if isinstance(error, OfflineModeIsEnabled):
        return HubError(
            "The hub is not asked, since HF_HUB_OFFLINE is set.",
            "Start without this variable to search and download.",
            problem=HubProblem.OFFLINE,
        )
    return _transport(error, access)


# --- answers -------------------------------------------------------------------------------------------------


def _refused(error: HfHubHTTPError, access: Access, repo: str) -> HubError:
    # GatedRepoError is a kind of RepositoryNotFoundError: the order counts.
    for kind, say in _BY_KIND:
        if isinstance(error, kind):
            return say(error, access, repo)
    return _by_status(error, access, repo)


def _gated(error: HfHubHTTPError, access: Access, repo: str) -> HubError:
    page = f"{access.endpoint}/{repo}"
    if error.response.status_code == 401 and not access.token:
        return HubError(
            f"{repo} is only for people who have accepted its licence, and the hub does not know who you are.",
            f"Accept the licence at {page}, then give Tutti an access token: in its settings, or as HF_TOKEN.",
            problem=HubProblem.GATED,
            page=page,
        )
    return HubError(
        f"{repo} is only for people who have accepted its licence.",
        f"Accept it at {page}, then try again.",
        problem=HubProblem.GATED,
        page=page,
    )


def _no_repository(_error: HfHubHTTPError, access: Access, repo: str) -> HubError:
    if access.token:
        return HubError(
            f"There is no repository {repo} on {access.host}, or your token may not see it.",
            "Check its name.",
            problem=HubProblem.NOT_FOUND,
        )
    return HubError(
        f"There is no repository {repo} on {access.host}, or it is private.",
        "Check its name; for a private one give Tutti an access token: in its settings, or as HF_TOKEN.",
        problem=HubProblem.NOT_FOUND,
    )


def _no_revision(_error: HfHubHTTPError, _access: Access, repo: str) -> HubError:
    return HubError(
        f"{repo} does not have this version any more.",
        "Look at the repository again and choose a file anew.",
        problem=HubProblem.NOT_FOUND,
    )


def _no_file(_error: HfHubHTTPError, _access: Access, repo: str) -> HubError:
    return HubError(
        f"{repo} does not have this file.",
        "Look at the repository again and choose a file anew.",
        problem=HubProblem.NOT_FOUND,
    )


def _disabled(_error: HfHubHTTPError, access: Access, repo: str) -> HubError:
    return HubError(
        f"{access.host} has blocked {repo}.", "Choose another model.", problem=HubProblem.REMOVED
    )


_Words = Callable[[HfHubHTTPError, Access, str], HubError]
_BY_KIND: tuple[tuple[type[HfHubHTTPError], _Words], ...] = (
    (GatedRepoError, _gated),
    (DisabledRepoError, _disabled),
    (RevisionNotFoundError, _no_revision),
    (RemoteEntryNotFoundError, _no_file),
)


def _by_status(error: HfHubHTTPError, access: Access, repo: str) -> HubError:
    response = error.response
    status = response.status_code
    if status == 401 and (access.token or response.headers.get("X-Error-Message") == _BAD_TOKEN):
        return _bad_token(access)
    if isinstance(error, RepositoryNotFoundError) or status in {401, 404, 410}:
        return _no_repository(error, access, repo or "of this name")
    if status == 407:
        return proxy_password(access)
    if status == 403:
        return HubError(
            f"{access.host} does not allow this access.",
            "Check what your access token may do."
            if access.token
            else "An access token may be needed: in Tutti's settings, or as HF_TOKEN.",
            problem=HubProblem.FORBIDDEN,
        )
    if status == 429:
        return _busy(access, response.headers)
    if status >= 500 or status == 408:
        return HubError(
            f"{access.host} has trouble of its own (status {status}).",
            "Try again later.",
            problem=HubProblem.DOWN,
            wait=asked_wait(response.headers, time.time()),
        )
    return HubError(
        f"{access.host} answered with status {status}, which makes no sense here.",
        "Try again later.",
        problem=HubProblem.PROTOCOL,
    )


def _bad_token(access: Access) -> HubError:
    page = f"{access.endpoint}/settings/tokens"
    return HubError(
        "The hub does not accept the access token: it is mistyped, expired or was withdrawn.",
        f"Make a new one at {page}.",
        problem=HubProblem.TOKEN,
        page=page,
    )


def _busy(access: Access, headers: Mapping[str, str]) -> HubError:
    wait = asked_wait(headers, time.time())
    when = (
        "Try again later." if wait is None else f"It may be asked again in {words.duration(wait)}."
    )
    remedy = when if access.token else f"{when} With an access token more is allowed."
    return HubError(
        f"{access.host} is busy, or was asked too often.",
        remedy,
        problem=HubProblem.BUSY,
        wait=wait,
    )


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a busy hub asks to wait: the longer of what `Retry-After` and `RateLimit` say; at most a day."""
    waits = [wait for wait in (_retry_after(headers, now), _rate_limit(headers)) if wait is not None]  # fmt: skip
    return min(_LONGEST_WAIT, max(0.0, *waits)) if waits else None


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)


def _rate_limit(headers: Mapping[str, str]) -> float | None:
    try:
        limit = parse_ratelimit_headers(headers)
    except ValueError:
        return None  # a number of more digits than Python reads
    if limit is None or limit.remaining:
        return None
    return float(min(limit.reset_in_seconds, _LONGEST_WAIT))


# --- no answer -----------------------------------------------------------------------------------------------


def _transport(error: Exception, access: Access) -> HubError:
    if isinstance(error, httpx2.ProxyError):
        return proxy_password(access) if "407" in str(error) else _dead_proxy(access)
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return _not_connected(error, access)
    if isinstance(error, httpx2.TimeoutException):
        return HubError(
            f"{access.host} does not answer.",
            "Try again later.",
            problem=HubProblem.SILENT,
        )
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return HubError(
            f"The connection to {access.host} broke.",
            "Check the network.",
            problem=HubProblem.OFFLINE,
        )
    return HubError(
        f"The answer of {access.host} makes no sense ({type(error).__name__}).",
        "Check the address of the hub, and whether a proxy stands between.",
        problem=HubProblem.PROTOCOL,
    )


def _not_connected(error: Exception, access: Access) -> HubError:
    causes = list(_causes(error))
    # A name that cannot be looked up and a refused connection are another's when a proxy was to be reached.
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return _certificate(causes, access)
    if access.proxied:
        return _dead_proxy(access)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return HubError(
            f"This machine is offline, or there is no {access.host}: its name is not known.",
            "Check the network and the address of the hub.",
            problem=HubProblem.OFFLINE,
        )
    return HubError(
        f"{access.host} cannot be reached.",
        "Check whether this machine is online.",
        problem=HubProblem.OFFLINE,
    )


def _certificate(causes: list[BaseException], access: Access) -> HubError:
    reason = next((c.verify_message for c in causes if isinstance(c, ssl.SSLCertVerificationError)), "")  # fmt: skip
    detail = f" ({reason})" if reason else ""
    return HubError(
        f"{access.host} could not prove that it is the one: its certificate is not accepted{detail}.",
        "Check this machine's clock. Behind a company's proxy, name its certificate with SSL_CERT_FILE.",
        problem=HubProblem.CERTIFICATE,
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def _dead_proxy(access: Access) -> HubError:
    return HubError(
        f"The proxy that stands before {access.host} does not answer.",
        "Check its address in the settings."
        if access.proxy
        else "Check HTTPS_PROXY, or set NO_PROXY for this host.",
        problem=HubProblem.OFFLINE,
    )


def proxy_password(access: Access) -> HubError:
    where = "its address in the settings" if access.proxy else "HTTPS_PROXY"
    return HubError(
        "The proxy wants a name and a password.",
        f"Write them into {where}: http://NAME:PASSWORD@HOST:PORT.",
        problem=HubProblem.PROXY,
    )
