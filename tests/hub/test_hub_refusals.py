"""Every refusal and every broken way to the hub has words of its own, and the token goes nowhere else."""

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from app.errors import HubError, HubProblem
from app.hub import access, failures
from app.hub.access import Access
from app.hub.answer import judge
from app.hub.catalog import Catalog
from app.hub.download import Download
from app.hub.line import Cut, Waits
from app.hub.listing import Query
from app.hub.remote import RemoteFile
from app.hub.transfer import Patience
from tests.fake_hub import MIB, Content, FakeHub
from tests.hub.conftest import until

pytestmark = pytest.mark.slow
TOKEN = "hf_TESTTOKEN123"
FAST = Waits(connect=0.5, read=0.3)


def refused(who: Access, repo: str = "o/r", waits: Waits = FAST) -> HubError:
    """What comes of looking at a repository."""
    catalog = Catalog(who, waits)
    try:
        with pytest.raises(HubError) as caught:
            catalog.repository(repo)
    finally:
        catalog.close()
    assert TOKEN not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("status", "headers", "token", "problem", "words"),
    [
        (401, {"X-Error-Code": "GatedRepo"}, "", HubProblem.GATED, "an access token: in its settings"),
        (403, {"X-Error-Code": "GatedRepo"}, TOKEN, HubProblem.GATED, "Accept it at"),
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}, TOKEN, HubProblem.TOKEN, "Make a new one at"),
        (401, {}, TOKEN, HubProblem.TOKEN, "mistyped, expired"),
        (401, {}, "", HubProblem.NOT_FOUND, "or it is private"),
        (404, {"X-Error-Code": "RepoNotFound"}, "", HubProblem.NOT_FOUND, "or it is private"),
        (404, {"X-Error-Code": "RepoNotFound"}, TOKEN, HubProblem.NOT_FOUND, "your token may not see it"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "", HubProblem.NOT_FOUND, "this version"),
        (404, {}, "", HubProblem.NOT_FOUND, "Check its name"),
        (403, {"X-Error-Message": "Access to this resource is disabled."}, "", HubProblem.REMOVED, "has blocked"),
        (403, {}, "", HubProblem.FORBIDDEN, "does not allow"),
        (429, {"Retry-After": "7"}, "", HubProblem.BUSY, "asked again in 7 s"),
        (429, {"RateLimit": '"api";r=0;t=55'}, "", HubProblem.BUSY, "asked again in 55 s"),
        (500, {}, "", HubProblem.DOWN, "trouble of its own (status 500)"),
        (503, {"Retry-After": "120"}, "", HubProblem.DOWN, "503"),
        (400, {}, "", HubProblem.PROTOCOL, "status 400"),
        (407, {}, "", HubProblem.PROXY, "name and a password"),
    ],
)  # fmt: skip
def test_each_refusal_has_words_of_its_own(
    hub: FakeHub, status: int, headers: dict[str, str], token: str, problem: HubProblem, words: str
) -> None:
    hub.refuse = (status, headers)
    error = refused(Access(hub.endpoint, token))
    assert error.problem is problem
    assert words in str(error)
    assert "<b>" not in str(error)
    if problem is HubProblem.GATED:
        assert error.page == f"{hub.endpoint}/o/r"
    if "Retry-After" in headers:
        assert error.wait == float(headers["Retry-After"])


NINES = "9" * 5000


@pytest.mark.parametrize(
    ("status", "headers", "body", "problem"),
    [
        (400, {}, b"[" * 60_000, HubProblem.PROTOCOL),
        (500, {}, b'{"a":' * 9000, HubProblem.DOWN),
        (403, {"X-Error-Code": "GatedRepo", "X-Id": "\xff"}, b"[" * 60_000, HubProblem.GATED),
        (404, {"Content-Range": "\xd9\xa1"}, b"", HubProblem.NOT_FOUND),
        (429, {"RateLimit": f'"api";r=0;t={NINES}'}, b"", HubProblem.BUSY),
        (429, {"RateLimit": f'"api";r=0;t=1{"0" * 400}'}, b"", HubProblem.BUSY),
        (503, {"RateLimit": f'"api";r=0;t={NINES}', "RateLimit-Policy": f"q={NINES}"}, b"", HubProblem.DOWN),
        (429, {"Retry-After": NINES}, b"", HubProblem.BUSY),
    ],
)  # fmt: skip
def test_a_refusal_that_is_nonsense_is_still_one(
    hub: FakeHub, status: int, headers: dict[str, str], body: bytes, problem: HubProblem
) -> None:
    hub.refuse, hub.refusal = (status, headers), body
    assert refused(Access(hub.endpoint)).problem is problem


def test_a_redirect_to_a_host_that_cannot_be_is_named(hub: FakeHub) -> None:
    hub.sends_to = f"http://{'a' * 300}/"
    catalog = Catalog(Access(hub.endpoint), FAST)
    with pytest.raises(HubError, match="makes no sense"), contextlib.closing(catalog):
        catalog.search(Query())


@pytest.mark.parametrize("given", [f"bytes 0-{NINES}/9", f"bytes {NINES}-9/9", f"bytes 0-9/{NINES}"])  # fmt: skip
def test_a_range_of_numbers_without_end_is_another_one(given: str) -> None:
    with pytest.raises(HubError):
        judge(RemoteFile("m.gguf", 10, "a" * 64), 0, 9, 206, {"content-range": given}, [])


def test_a_closed_port_is_told_as_a_network_that_is_not_there() -> None:
    error = refused(Access(closed_port()))
    assert error.problem is HubProblem.OFFLINE
    assert "online" in error.remedy


def closed_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


def test_a_silent_hub_is_told_and_does_not_hang(hub: FakeHub) -> None:
    hub.silent = True
    assert refused(Access(hub.endpoint)).problem is HubProblem.SILENT


def test_a_search_that_nobody_waits_for_any_more_ends_at_once(hub: FakeHub) -> None:
    hub.silent = True
    catalog = Catalog(Access(hub.endpoint), Waits(3600, 3600))
    ended: list[str] = []

    def ask() -> None:
        with contextlib.suppress(Cut):
            catalog.search(Query("x"))
        ended.append("yes")

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    until(lambda: hub.log)
    catalog.cut()
    thread.join(20)
    assert ended == ["yes"]
    catalog.close()


@pytest.mark.parametrize(
    ("cause", "problem", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), HubProblem.OFFLINE, "its name is not known"),
        (ConnectionRefusedError(), HubProblem.OFFLINE, "cannot be reached"),
        (TimeoutError(), HubProblem.OFFLINE, "cannot be reached"),
    ],
)  # fmt: skip
def test_causes_of_no_connection(cause: Exception, problem: HubProblem, words: str) -> None:
    error = httpx2.ConnectError("no")
    error.__cause__ = cause
    told = failures.told(error, Access("https://hub.example"))
    assert told.problem is problem
    assert words in str(told)


# --- certificate ---------------------------------------------------------------------------------------------


@pytest.fixture
def unknown_authority() -> Iterator[str]:
    """A TLS server whose certificate nobody has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("unknown_authority.pem"))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    one, _ = listener.accept()
                    with contextlib.suppress(OSError), one:
                        context.wrap_socket(one, server_side=True).close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)


def test_a_certificate_of_an_unknown_authority_is_named(unknown_authority: str) -> None:
    error = refused(Access(unknown_authority), waits=Waits())
    assert error.problem is HubProblem.CERTIFICATE
    assert "certificate is not accepted" in error.what
    assert "SSL_CERT_FILE" in error.remedy


# --- proxies -------------------------------------------------------------------------------------------------


@pytest.fixture
def proxy() -> Iterator[str]:
    """Wants a password for everything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    one, _ = listener.accept()
                    with contextlib.suppress(OSError), one:
                        one.recv(65_536)
                        one.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")  # fmt: skip

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_named(proxy: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv(f"{scheme}_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    error = refused(Access(f"{scheme}://hub.example"))
    assert error.problem is HubProblem.PROXY
    assert "name and a password" in error.what


def test_a_dead_proxy_is_not_taken_for_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", closed_port())
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    error = refused(Access("https://hub.example"))
    assert error.problem is HubProblem.OFFLINE
    assert "proxy" in error.what


# --- the token -----------------------------------------------------------------------------------------------


def test_without_encryption_a_token_goes_to_this_machine_only() -> None:
    for endpoint in (
        "http://127.0.0.1:1",
        "http://localhost:1",
        "http://[::1]:1",
        "https://hub.example",
    ):
        access.checked(Access(endpoint, TOKEN))
    access.checked(Access("http://hub.example"))
    with pytest.raises(HubError) as caught:
        access.checked(Access("http://hub.example", TOKEN))
    assert caught.value.problem is HubProblem.TOKEN
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["hf_a b", "hf_ü", "hf_a\nX-Evil: 1", "hf_\x00"])
def test_a_token_that_is_none_is_refused_before_it_is_sent(token: str) -> None:
    with pytest.raises(HubError) as caught:
        access.checked(Access("https://hub.example", token))
    assert caught.value.problem is HubProblem.TOKEN


@pytest.mark.parametrize("endpoint", ["hub.example", "ftp://hub.example", "https://", "https://[bad"])  # fmt: skip
def test_an_endpoint_that_is_no_web_address_is_refused(endpoint: str) -> None:
    with pytest.raises(HubError) as caught:
        access.checked(Access(endpoint))
    assert caught.value.problem is HubProblem.NAME


def test_a_token_that_other_programs_left_is_not_sent(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.endpoint}/")
    hub.add("o/r", m__gguf=Content(MIB))
    who = access.chosen()
    assert who.endpoint == hub.endpoint
    catalog = Catalog(who)
    catalog.search(Query())
    catalog.close()
    assert {asked.authorization for asked in hub.log} == {None}


def test_the_token_is_in_no_log_and_no_error(
    hub: FakeHub, models: Path, find: Callable[..., object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    hub.add("o/r", m__gguf=Content(MIB))
    model = find()
    who = Access(hub.endpoint, TOKEN)
    Download(model, models, who, patience=Patience()).run()  # type: ignore[arg-type]
    hub.refuse = (500, {"X-Error-Message": f"you sent {TOKEN}"})
    error = refused(who)
    assert TOKEN not in caplog.text
    assert "Signature" not in caplog.text
    assert TOKEN not in repr(who) + str(error) + repr(error)
    assert hub.log


def test_nothing_is_asked_that_nobody_wanted(hub: FakeHub) -> None:
    hub.add("o/r", m__gguf=Content(MIB))
    catalog = Catalog(Access(hub.endpoint))
    catalog.repository("o/r")
    catalog.close()
    assert [asked.path for asked in hub.log] == [
        "/api/models/o/r",
        f"/api/models/o/r/tree/{'c' * 40}",
    ]
