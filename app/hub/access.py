"""Which hub is asked, and as whom."""

import ipaddress
import os
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app import __version__
from app.errors import HubError, HubProblem

_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class Access:
    """`endpoint` without a slash at its end; `token` "" for nobody.  The token is never shown or logged."""

    endpoint: str = _ENDPOINT
    token: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """For words: the host and, where it is given, the port."""
        return urlsplit(self.endpoint).netloc.rpartition("@")[2]

    @property
    def proxied(self) -> bool:
        """Whether a proxy stands between."""
        address = urlsplit(self.endpoint)
        proxies = urllib.request.getproxies()
        there = proxies.get(address.scheme) or proxies.get("all")
        return bool(there) and not urllib.request.proxy_bypass(address.hostname or "")


def from_environment() -> Access:
    """What `HF_ENDPOINT` and `HF_TOKEN` say; raises HubError where that is not safe.

    A token that other programs left on this machine is not looked for: the user did not give it to this one.
    """
    endpoint = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or _ENDPOINT
    return checked(Access(endpoint, os.environ.get("HF_TOKEN", "").strip()))


def checked(access: Access) -> Access:
    """The same; raises HubError for an address that is none, and where the token could be read on the way."""
    scheme, host = _parts(access.endpoint)
    if scheme not in {"http", "https"} or not host:
        raise HubError(
            "The address of the hub is not a web address.",
            "Correct HF_ENDPOINT; it begins with https://.",
            problem=HubProblem.NAME,
        )
    if access.token and scheme == "http" and not _is_loopback(host):
        raise HubError(
            f"{access.host} is not asked with the access token: without encryption others could read it on the way.",
            "Use an https:// address, or no token.",
            problem=HubProblem.TOKEN,
        )
    if not access.token.isascii() or not access.token.isprintable() or " " in access.token:
        raise HubError(
            "The access token holds characters that no token has.",
            "Copy it again from the hub's page of access tokens.",
            problem=HubProblem.TOKEN,
            page=f"{access.endpoint}/settings/tokens",
        )
    return access


def _parts(endpoint: str) -> tuple[str, str]:
    """Scheme and host; "" for both where it is no address."""
    try:
        address = urlsplit(endpoint)
        parts = address.scheme, address.hostname or ""
    except ValueError:
        return "", ""
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def headers(access: Access) -> dict[str, str]:
    """What every request to the hub carries."""
    from huggingface_hub import constants
    from huggingface_hub.utils._headers import build_hf_headers

    # Otherwise building the headers asks the hub for a list of known agents: traffic that nobody wanted.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    return build_hf_headers(
        token=access.token or False, library_name="tutti", library_version=__version__
    )
