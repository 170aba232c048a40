"""The head of a model file that lies on a hub, by a few requests for ranges: what the model is, without a download."""

import tempfile
from pathlib import Path

from huggingface_hub import hf_hub_url

from app.errors import ModelError
from app.hub import details
from app.hub.access import Access
from app.hub.answer import judge
from app.hub.fit import fit
from app.hub.line import QUICK, Line, Waits
from app.hub.names import Kind
from app.hub.remote import RemoteModel
from app.sizing.footprint import Footprint, footprint
from app.sizing.header import Header, read_header

_STEPS = (256 << 10, 2 << 20, 8 << 20, 32 << 20)
"""Bytes from the front that are tried: vocabularies make heads of 2 to 8 MB."""


def remote_footprint(model: RemoteModel, access: Access, waits: Waits = QUICK) -> Footprint | None:
    """What `model` takes of the memory; None where its head makes no sense.  Raises HubError and Cut."""
    header = remote_header(model, access, waits)
    return None if header is None else footprint(header, model.size)


def remote_fit(model: RemoteModel, access: Access, free: int, waits: Waits = QUICK) -> str:
    """How many chats of `model` fit into so many free bytes, or why it cannot chat, in words; "" where that cannot be
    told.  Raises HubError and Cut."""
    header = remote_header(model, access, waits)
    if header is None:
        return ""
    kind = details.kind(header)
    if kind is not Kind.MODEL:
        return f"it cannot chat, whatever its name says: it is the file of another kind ({kind})"
    found = footprint(header, model.size)
    return str(fit(found, free)) if found.layers else ""


def remote_header(model: RemoteModel, access: Access, waits: Waits = QUICK) -> Header | None:
    """The head of its first file, in at most four requests."""
    file = model.files[0]
    address = hf_hub_url(model.repo, file.path, revision=model.commit, endpoint=access.endpoint)
    line = Line(access, waits)
    try:
        with tempfile.TemporaryDirectory(prefix="tutti-head-") as folder:
            path = Path(folder) / "head.gguf"
            path.touch()
            for step in _STEPS:
                end = min(step, file.size)
                begin = path.stat().st_size
                if end > begin:
                    with path.open("ab") as head:
                        head.write(_range(line, model, address, begin, end - 1))
                found = _read(path)
                if found is not None or end == file.size or not _may_be_one(path):
                    return found
    finally:
        line.close()
    return None


def _range(line: Line, model: RemoteModel, address: str, first: int, last: int) -> bytes:
    found = bytearray()
    with line.ranged(address, first, last, model.repo) as response:
        body = judge(model.files[0], first, last, response.status_code, response.headers, [])
        skip = body.skip
        for chunk in response.iter_raw():
            found += chunk[skip:]
            skip -= min(skip, len(chunk))
            if len(found) > last - first:
                break
    return bytes(found[: last - first + 1])


def _may_be_one(path: Path) -> bool:
    with path.open("rb") as head:
        return head.read(4) == b"GGUF"


def _read(path: Path) -> Header | None:
    """None for a head that is not whole yet, or damaged."""
    try:
        return read_header(path)
    except ModelError:
        return None
