"""The source of llama-cpp-python, unpacked: it brings real chat templates and vocabularies.

Set-up keeps them beside the wheel that it compiled.  `TUTTI_LLAMA_SOURCE` names another place: the folder `models` of
llama.cpp, or the unpacked source of llama-cpp-python.
"""

import os
from pathlib import Path

from provision import wheelhouse


def models() -> Path | None:
    """The folder with `templates/` and `ggml-vocab-*.gguf`, where there is one."""
    named = os.environ.get("TUTTI_LLAMA_SOURCE")
    if named is None:
        folder = wheelhouse.wheel_dir() / "models"
        return folder if folder.is_dir() else None
    folder = Path(named)
    inside = folder / "vendor" / "llama.cpp" / "models"
    return inside if inside.is_dir() else folder


def templates(folder: Path) -> dict[str, str]:
    """The chat templates by name."""
    files = sorted((folder / "templates").glob("*.jinja"))
    return {file.stem: file.read_text(encoding="utf-8") for file in files}


def vocabularies(folder: Path) -> dict[str, Path]:
    """The vocabulary files by name."""
    return {
        file.stem.removeprefix("ggml-vocab-"): file
        for file in sorted(folder.glob("ggml-vocab-*.gguf"))
    }
