"""The journal of a part file: which of its blocks were written, each with its checksum.  Sans I/O.

A header line names the content that the part belongs to; then come records of 16 bytes, each with a checksum of its
own.  A record that was torn by a crash, and whatever follows it, does not count.  Records are only ever appended; of
two for the same block the later one counts.
"""

import json
import struct
import zlib
from dataclasses import dataclass

from app.hub.remote import RemoteFile

BLOCK = 1 << 20
"""Bytes of a block: what a kill costs at most, and what is fetched again when one is damaged."""

_FORMAT = 1
_RECORD = struct.Struct("<III")
_SEAL = struct.Struct("<I")
RECORD_BYTES = _RECORD.size + _SEAL.size
_MOST_HEADER = 4096


@dataclass(frozen=True, slots=True)
class Record:
    """Block `index` has `length` bytes with CRC-32 `crc`."""

    index: int
    length: int
    crc: int


def header(file: RemoteFile) -> bytes:
    """The first line of the journal for a part of `file`."""
    content = {"format": _FORMAT, "size": file.size, "digest": file.digest, "block": BLOCK}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def encode(record: Record) -> bytes:
    body = _RECORD.pack(record.index, record.length, record.crc)
    return body + _SEAL.pack(zlib.crc32(body))


def decode(data: bytes, file: RemoteFile) -> tuple[dict[int, Record], int] | None:
    """The records of a journal by block, and how many of its bytes count; None for one of another content."""
    end = data.find(b"\n", 0, _MOST_HEADER) + 1
    if not end or data[:end] != header(file):
        return None
    records: dict[int, Record] = {}
    for at in range(end, len(data) - RECORD_BYTES + 1, RECORD_BYTES):
        record = _record(data[at : at + RECORD_BYTES], file.size)
        if record is None:
            break
        records[record.index] = record
        end = at + RECORD_BYTES
    return records, end


def _record(data: bytes, size: int) -> Record | None:
    body, seal = data[: _RECORD.size], data[_RECORD.size :]
    record = Record(*_RECORD.unpack(body))
    whole = _SEAL.unpack(seal)[0] == zlib.crc32(body)
    return record if whole and record.length == block_length(record.index, size) else None


def block_length(index: int, size: int) -> int:
    """Bytes of block `index` in a file of `size` bytes; 0 for one behind its end."""
    return max(0, min(BLOCK, size - index * BLOCK))


def block_count(size: int) -> int:
    return -(-size // BLOCK)
