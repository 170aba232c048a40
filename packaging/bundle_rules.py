"""What goes into the frozen folder and what stays out; pure functions, used by app.spec and build.py.

Left out: Qt plugins that nobody uses (several pull whole toolkits in behind them), and every system library that
must match the machine it runs on (the C++ runtime, the graphics stack, X11, fontconfig).  Taken along: the small
libraries that bare desktops often lack.
"""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

EXCLUDED_MODULES = (
    "IPython", "PIL", "_pytest", "gguf", "hypothesis", "importlinter", "matplotlib", "mypy", "openai", "pandas",
    "pip", "pydantic", "pytest", "pytestqt", "rich", "ruff", "scipy", "setuptools", "tkinter",
    # The binding's high-level half, which app.llama passes over, and what only that imports.
    "diskcache", "llama_cpp.llama", "llama_cpp.server",
    "PySide6.QtDesigner", "PySide6.QtHelp", "PySide6.QtQml", "PySide6.QtQuick", "PySide6.QtSql", "PySide6.QtTest",
    "PySide6.QtUiTools",
)  # fmt: skip

_DROPPED_PLUGINS = re.compile(
    r"/plugins/(?:"
    r"(?:assetimporters|designer|egldeviceintegrations|generic|help|networkinformation|printsupport|qmllint|qmltooling"
    r"|sqldrivers|tls|vectorimageformats|wayland-graphics-integration-server)/"
    r"|platforms/libq(?:eglfs|linuxfb|minimal|minimalegl|vkkhrdisplay|vnc)\."
    r"|platforminputcontexts/libqtvirtualkeyboard"
    r"|imageformats/libq(?:pdf|tiff|tga|wbmp|icns)\."
    r"|platformthemes/libqgtk3"
    r")"
)
_DROPPED_FOLDERS = ("PySide6/Qt/translations/", "PySide6/Qt/qml/", "PySide6/translations/")

_SYSTEM_LIBRARIES_TAKEN = re.compile(
    r"lib(?:"
    r"python3|ssl|crypto|sqlite3|ffi|lzma|bz2|z|uuid|gomp|xkbcommon|xkbcommon-x11"
    r"|xcb-(?:cursor|icccm|image|keysyms|render-util|util|xkb|randr|render|shape|shm|sync|xfixes)"
    r"|pyside6|shiboken6"
    r")[.\d]*(?:\.abi3)?\.so"
)
_LLAMA_LIBRARY = re.compile(
    r"(?:libllama\.so|libggml(?:-[a-z0-9]+)*\.so\.\d+|libggml-[a-z0-9]+-[a-z0-9_]+\.so"
    r"|lib(?:llama|ggml[a-z0-9-]*)(?:\.\d+)?\.dylib|(?:llama|ggml[a-z0-9-]*)\.dll)$"
)


def keeps(destination: str) -> bool:
    """Whether a file that PyInstaller found goes into the folder; `destination` is its path in there."""
    path = destination.replace("\\", "/")
    if any(path.startswith(folder) for folder in _DROPPED_FOLDERS):
        return False
    if _DROPPED_PLUGINS.search(path):
        return False
    if "/" in path or not re.match(r"lib.*\.so", path):
        return True
    return _SYSTEM_LIBRARIES_TAKEN.match(path) is not None


def llama_libraries(folder: Path) -> list[Path]:
    """llama.cpp's libraries, each once.  The wheel holds every one under three names, for wheels know no links."""
    found = sorted(path for path in folder.iterdir() if _LLAMA_LIBRARY.match(path.name))
    if not any(path.name.startswith(("libllama", "llama")) for path in found):
        raise FileNotFoundError(f"no libllama in {folder}")
    return found


def unresolved(log: Iterable[str]) -> list[str]:
    """Libraries that PyInstaller could not find on the build machine: it only warns, the app then dies elsewhere."""
    names = (re.search(r"could not resolve '([^']+)'", line) for line in log)
    # A plugin that is left out may want what it likes.
    return sorted({name[1] for name in names if name and keeps(PurePosixPath(name[1]).name)})
