"""A model hub on loopback: the hub and its CDN on two ports, so that a redirect goes to another origin.

Both speak HTTP/1.1.  What the CDN does with each request for a file can be scripted; every request is logged with what
was really written.  Bytes of files are made when they are asked for, so that a file of gigabytes costs no memory.
"""

import contextlib
import gzip
import hashlib
import itertools
import json
import re
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

MIB = 1 << 20
_NOISE = Random(5).randbytes(MIB)
COMMIT = "c" * 40


class Content:
    """`size` bytes that differ from block to block and with the `seed`; or the bytes that are given."""

    def __init__(
        self, size: int = 0, seed: int = 0, data: bytes | None = None, sha256: str = ""
    ) -> None:
        """`sha256` is what the hub says, where it is not the truth."""
        self._said = sha256
        self.data = data
        self.size = size if data is None else len(data)
        self._seed = seed

    def read(self, first: int, end: int) -> bytes:
        if self.data is not None:
            return self.data[first:end]
        blocks = range(first // MIB, -(-end // MIB))
        whole = b"".join(b"%08d%08d" % (self._seed, i) + _NOISE[16:] for i in blocks)
        return whole[first - blocks.start * MIB : end - blocks.start * MIB]

    @property
    def sha256(self) -> str:
        if self._said:
            return self._said
        whole = hashlib.sha256()
        for at in range(0, self.size, MIB):
            whole.update(self.read(at, min(at + MIB, self.size)))
        return whole.hexdigest()


@dataclass
class Repo:
    files: dict[str, Content] = field(default_factory=dict)
    commit: str = COMMIT
    gated: bool = False
    tags: list[str] = field(default_factory=lambda: ["gguf", "license:mit", "en"])
    facts: dict[str, Any] = field(default_factory=dict)
    small: frozenset[str] = frozenset()
    """Files that are not in LFS: no redirect, a git blob's SHA-1 as their tag."""


@dataclass
class Asked:
    """One request: `sent` bytes of the body were really written."""

    server: str
    method: str
    path: str
    first: int | None
    authorization: str | None
    headers: dict[str, str]
    sent: int = 0
    query: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Does:
    """What the CDN does with one request.  `after` is counted in bytes of this answer."""

    cut_after: int | None = None
    stall_after: int | None = None
    drip_after: int | None = None
    call_after: tuple[int, Callable[[], None]] | None = None
    flip: tuple[int, ...] = ()
    """Bytes of the file that are sent wrong."""
    whole: bool = False
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    zipped: bool = False
    short: int = 0
    """So many bytes of the range are left out at its end, and the answer says so."""


class FakeHub:
    """`endpoint` is for HF_ENDPOINT.  Use it in a `with` block."""

    def __init__(self, *, bytes_per_second: float = 0.0) -> None:
        self.repos: dict[str, Repo] = {}
        self.script: list[Does] = []
        self.always: Does = Does()
        self.refuse: tuple[int, dict[str, str]] | None = None
        self.refusal = b'{"error": "<b>no</b>"}'
        self.raw: bytes | None = None
        self.silent = False
        self.needs_token = ""
        self.people: dict[str, str] = {}
        """Names by token."""
        self.pages_at = ""
        self.sends_to = ""
        """Another origin: of the next pages of a list, and where a search is sent on to."""
        self.page_size = 1000
        self.log: list[Asked] = []
        self.closing = threading.Event()
        self.bytes_per_second = bytes_per_second
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._servers = [_Server(partial(handler, self)) for handler in (_Hub, _Cdn)]
        self.endpoint, self.cdn = (f"http://127.0.0.1:{one.server_port}" for one in self._servers)

    def __enter__(self) -> "FakeHub":
        for server in self._servers:
            server.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        for server in self._servers:
            server.shutdown()
        with self._lock:
            connections = list(self._connections)
        for one in connections:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for server in self._servers:
            server.server_close()
            server.thread.join()

    def add(self, repo: str, **files: Content) -> Repo:
        """A repository whose file names are written with `__` for a dot."""
        made = Repo({name.replace("__", "."): content for name, content in files.items()})
        self.repos[repo] = made
        return made

    def next(self) -> Does:
        with self._lock:
            return self.script.pop(0) if self.script else self.always

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def note(self, asked: Asked) -> None:
        with self._lock:
            self.log.append(asked)

    def bodies(self) -> list[Asked]:
        """The requests for bytes of files."""
        return [asked for asked in self.log if asked.server == "_Cdn"]

    def read_twice(self) -> list[int]:
        """For each break, how many bytes had been written behind where the next connection began."""
        bodies = [asked for asked in self.bodies() if asked.first is not None]
        pairs = itertools.pairwise(bodies)
        return [max(0, (a.first or 0) + a.sent - (b.first or 0)) for a, b in pairs]


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    allow_reuse_address = False

    def __init__(self, handler: Any) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def handle_error(self, *_: object) -> None:
        """A client that went away is what the tests are about."""


class _Handler(BaseHTTPRequestHandler, ABC):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, hub: FakeHub, *args: Any) -> None:
        self.hub = hub
        super().__init__(*args)

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        self.hub.opened(self.connection)

    def finish(self) -> None:
        self.hub.closed(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(head=True)

    def do_GET(self) -> None:
        self.answer(head=False)

    def answer(self, *, head: bool) -> None:
        address = urlsplit(self.path)
        ranged = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        self.asked = Asked(
            type(self).__name__,
            self.command,
            unquote(address.path),
            int(ranged[1]) if ranged else None,
            self.headers.get("Authorization"),
            {name.lower(): value for name, value in self.headers.items()},
            query=parse_qs(address.query),
        )
        self.last = int(ranged[2]) if ranged and ranged[2] else None
        self.hub.note(self.asked)
        if self.hub.silent:
            self.hub.closing.wait()
            self.close_connection = True
            return
        self.respond(head)

    def send(self, status: int, headers: dict[str, str], body: bytes = b"", *, head: bool = False) -> None:  # fmt: skip
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if not head:
            self.wfile.write(body)
            self.asked.sent += len(body)

    def refuse(self, status: int, code: str = "", message: str = "", **more: str) -> None:
        headers = {"X-Error-Code": code} if code else {}
        headers |= {"X-Error-Message": message} if message else {}
        self.send(status, headers | more, json.dumps({"error": message or code}).encode())

    @abstractmethod
    def respond(self, head: bool) -> None:
        """Answer what was asked; `head` leaves out the body."""


class _Hub(_Handler):
    def respond(self, head: bool) -> None:
        hub, path = self.hub, self.asked.path
        if hub.raw is not None:
            self.send(200, {"Content-Type": "application/json"}, hub.raw)
        elif hub.refuse is not None:
            self.send(hub.refuse[0], hub.refuse[1], hub.refusal)
        elif hub.needs_token and self.asked.authorization != f"Bearer {hub.needs_token}":
            self.refuse(401, message="Invalid credentials in Authorization header")
        elif path == "/api/models":
            self._search()
        elif path == "/api/whoami-v2":
            self._owner()
        elif path.startswith("/api/models/"):
            self._about(path.removeprefix("/api/models/"))
        elif "/resolve/" in path:
            self._resolve(head)
        else:
            self.refuse(404, "RepoNotFound")

    def _owner(self) -> None:
        name = self.hub.people.get((self.asked.authorization or "").removeprefix("Bearer "))
        if name is None:
            self.refuse(401, message="Invalid credentials in Authorization header")
        else:
            self.send(200, {"Content-Type": "application/json"}, json.dumps({"name": name}).encode())  # fmt: skip

    def _search(self) -> None:
        query = self.asked.query
        if self.hub.sends_to:
            self.send(302, {"Location": self.hub.sends_to})
            return
        text = query.get("search", [""])[0].lower()
        rows = [self._row(name) for name in sorted(self.hub.repos) if text in name.lower()]
        self._list(rows, int(query.get("limit", ["1000"])[0]))

    def _list(self, rows: list[dict[str, Any]], limit: int) -> None:
        start = int(self.asked.query.get("cursor", ["0"])[0])
        limit = min(limit, self.hub.page_size)
        headers = {"Content-Type": "application/json"}
        if start + limit < len(rows):
            kept = "&".join(
                f"{name}={value}"
                for name, values in self.asked.query.items()
                for value in values
                if name != "cursor"
            )
            page = f"{self.hub.pages_at or self.hub.endpoint}{self.asked.path}?{kept}&cursor={start + limit}"
            headers["Link"] = f'<{page}>; rel="next"'
        self.send(200, headers, json.dumps(rows[start : start + limit]).encode())

    def _row(self, name: str) -> dict[str, Any]:
        repo = self.hub.repos[name]
        return {
            "id": name,
            "sha": repo.commit,
            "private": False,
            "gated": "manual" if repo.gated else False,
            "downloads": 12,
            "likes": 3,
            "tags": repo.tags,
            "pipeline_tag": "text-generation",
            "lastModified": "2026-05-06T07:08:09.000Z",
            "gguf": repo.facts,
        }

    def _about(self, rest: str) -> None:
        name = "/".join(rest.split("/")[:2])
        repo = self.hub.repos.get(name)
        if repo is None:
            self.refuse(404, "RepoNotFound")
        elif "/tree/" in rest:
            self._list(
                [_entry(path, file, path in repo.small) for path, file in repo.files.items()], 1000
            )
        elif "/revision/" in rest and not rest.endswith((repo.commit, "/main")):
            self.refuse(404, "RevisionNotFound")
        else:
            self.send(200, {"Content-Type": "application/json"}, json.dumps(self._row(name)).encode())  # fmt: skip

    def _resolve(self, head: bool) -> None:
        name, _, rest = self.asked.path.strip("/").partition("/resolve/")
        commit, _, path = rest.partition("/")
        repo = self.hub.repos.get(name)
        if repo is None:
            self.refuse(404, "RepoNotFound")
        elif repo.gated and not self.asked.authorization:
            self.refuse(401, "GatedRepo")
        elif repo.gated and self.asked.authorization == "Bearer hf_stranger":
            self.refuse(403, "GatedRepo")
        elif commit not in {repo.commit, "main"}:
            self.refuse(404, "RevisionNotFound")
        elif path not in repo.files:
            self.refuse(404, "EntryNotFound")
        else:
            self._file(repo, name, path, head)

    def _file(self, repo: Repo, name: str, path: str, head: bool) -> None:
        file = repo.files[path]
        headers = {"X-Repo-Commit": repo.commit}
        if path in repo.small:
            tag = f'"{_blob(file)}"'
            self.send(200, headers | {"ETag": tag}, file.read(0, file.size), head=head)
            return
        headers |= {"X-Linked-Size": str(file.size), "X-Linked-ETag": f'"{sha_of(file)}"'}
        headers["Location"] = f"{self.hub.cdn}/{name}/{path}?Signature=secret"
        self.send(302, headers)


class _Cdn(_Handler):
    def respond(self, head: bool) -> None:
        owner, name, path = self.asked.path.strip("/").split("/", 2)
        file = self.hub.repos[f"{owner}/{name}"].files[path]
        does = self.hub.next()
        first, last = self.asked.first, file.size - 1 if self.last is None else self.last
        if does.status:
            self.send(does.status, dict(does.headers), b"<Error>no</Error>")
        elif does.zipped:
            self.send(200, {"Content-Encoding": "gzip"}, gzip.compress(b"no"))
        elif first is None or does.whole:
            self._body(file, 0, file.size, 200, does)
        elif first >= file.size:
            self.send(416, {"Content-Range": f"bytes */{file.size}"})
        else:
            self._body(file, first, min(last + 1, file.size) - does.short, 206, does)

    def _body(self, file: Content, first: int, end: int, status: int, does: Does) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(end - first))
        self.send_header("ETag", '"of-the-cdn"')
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{file.size}")
        for header in does.headers:
            self.send_header(*header)
        self.end_headers()
        self._stream(file, first, end, does)

    def _stream(self, file: Content, first: int, end: int, does: Does) -> None:
        at, began = first, time.monotonic()
        while at < end:
            data = self._next(file, at, min(end, at + 65_536), first, does)
            if not data:
                self.close_connection = True
                return
            self.connection.sendall(data)
            at += len(data)
            self.asked.sent += len(data)
            if does.call_after and at - first == does.call_after[0]:
                does.call_after[1]()
            if self.hub.bytes_per_second:
                late = (at - first) / self.hub.bytes_per_second - (time.monotonic() - began)
                self.hub.closing.wait(max(0.0, late))

    def _next(self, file: Content, at: int, end: int, first: int, does: Does) -> bytes:
        """What comes next; b"" to end the connection."""
        for limit, act in (
            (does.cut_after, _cut),
            (does.stall_after, _stall),
            (does.drip_after, _drip),
        ):
            if limit is not None:
                if at - first >= limit:
                    return act(self, file, at)
                end = min(end, first + limit)
        if does.call_after:
            end = (
                max(at + 1, min(end, first + does.call_after[0]))
                if at - first < does.call_after[0]
                else end
            )
        data = bytearray(file.read(at, end))
        for place in does.flip:
            if at <= place < end:
                data[place - at] ^= 1
        return bytes(data)


def _cut(_cdn: _Cdn, _file: Content, _at: int) -> bytes:
    return b""


def _stall(cdn: _Cdn, _file: Content, _at: int) -> bytes:
    cdn.hub.closing.wait()
    return b""


def _drip(cdn: _Cdn, file: Content, at: int) -> bytes:
    return b"" if cdn.hub.closing.wait(0.02) else file.read(at, at + 1)


_digests: dict[int, tuple[Content, str]] = {}


def sha_of(file: Content) -> str:
    """Counted once for each content."""
    kept = _digests.get(id(file))
    if kept is None or kept[0] is not file:
        kept = (file, file.sha256)
        _digests[id(file)] = kept
    return kept[1]


def _blob(file: Content) -> str:
    data = file.read(0, file.size)
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _entry(path: str, file: Content, small: bool) -> dict[str, Any]:
    row = {
        "type": "file",
        "path": path,
        "size": file.size,
        "oid": _blob(file) if small else "0" * 40,
    }
    return (
        row
        if small
        else row | {"lfs": {"oid": sha_of(file), "size": file.size, "pointerSize": 134}}
    )
