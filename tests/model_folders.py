"""Folders of models without the models: files that have a head only, and Ollama's store."""

import json
import shutil
from pathlib import Path

import gguf


def head(path: Path, architecture: str = "llama", **values: str | int) -> Path:
    """A file that has a head and nothing else; `__` in a key stands for a dot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in values.items():
        name = key.replace("__", ".")
        writer.add_string(name, value) if isinstance(value, str) else writer.add_uint32(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def ollama(folder: Path, name: str, blob: Path | None, *, media: str = "application/vnd.ollama.image.model") -> None:  # fmt: skip
    manifest = folder / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    digest = "cd" * 32
    (folder / "blobs").mkdir(exist_ok=True)
    if blob is not None:
        shutil.copy(blob, folder / "blobs" / f"sha256-{digest}")
    layers = [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64}, {"mediaType": media, "digest": f"sha256:{digest}"}]  # fmt: skip
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
