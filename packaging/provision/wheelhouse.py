"""Compiled llama-cpp-python wheels, kept outside the checkout so that it is compiled once.

`<cache>/wheels/<version>-<key>/` holds one wheel, and the folder `models` of its source.  The key covers everything that changes the result: flags,
compiler, Python, system and processor (pip's own cache knows none of these and would hand out a wheel made with
other flags).  A finished wheel is moved into place by one rename; whoever else wants the same wheel meanwhile
waits.  An interrupted build goes on where it was.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from provision import filelock, llama_build, system

_ENVIRONMENT = (
    "CMAKE_ARGS",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MACOSX_DEPLOYMENT_TARGET",
)
_SPACE_MB = 1_500


def cache_dir() -> Path:
    """`TUTTI_CACHE_DIR`, or the platform's folder for caches."""
    override = os.environ.get("TUTTI_CACHE_DIR")
    if override:
        return Path(override).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tutti" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tutti"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tutti"


def wheel_dir() -> Path:
    """Where the wheel of this checkout's lock, for this machine and these flags, lies or will lie."""
    return cache_dir() / "wheels" / f"{llama_build.pin().version}-{_key()}"


def find_wheel() -> Path | None:
    """The wheel, if it was built before."""
    return next(iter(sorted(wheel_dir().glob("*.whl"))), None)


def require_wheel(log: Path, say: Callable[[str], None]) -> Path:
    """The wheel; compiled now if need be, which takes minutes."""
    wheel = find_wheel()
    if wheel is not None:
        return wheel
    system.require_compiler()
    system.require_space(cache_dir(), _SPACE_MB, "compiling llama.cpp")
    target = wheel_dir()
    work = cache_dir() / "build" / target.name
    lock_file = cache_dir() / "build" / f"{target.name}.lock"
    with filelock.held(lock_file, lambda: say("waiting for another build of llama.cpp")):
        return find_wheel() or publish(llama_build.Build(work, log, say).wheel(), target, work)


def publish(wheel: Path, target: Path, work: Path) -> Path:
    """Put the finished wheel in place by one rename, and clear the work away."""
    parcel = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(parcel, ignore_errors=True)
    parcel.mkdir(parents=True)
    shutil.copy2(wheel, parcel)
    for models in work.glob("llama_cpp_python-*/vendor/llama.cpp/models"):
        # Chat templates and vocabularies of real models: tests compare prompts with llama.cpp's.
        shutil.move(models, parcel / "models")
    shutil.rmtree(target, ignore_errors=True)
    parcel.rename(target)
    shutil.rmtree(work, ignore_errors=True)
    return target / wheel.name


def _key() -> str:
    facts = {
        "flags": llama_build.FLAGS,
        "cmake": [
            file.read_text(encoding="utf-8")
            for file in (llama_build.CORE_ONLY, llama_build.PROCESSOR)
        ],
        "environment": {name: os.environ.get(name, "") for name in _ENVIRONMENT},
        "compiler": _compiler(),
        "python": f"{sys.implementation.cache_tag}",
        "system": [sys.platform, platform.machine()],
        "processor": _processor(),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _compiler() -> str:
    command = os.environ.get("CXX", "").split() or ["c++"]
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return ""
    return done.stdout.partition("\n")[0]


def _processor() -> str:
    """The instruction set: ggml is compiled for exactly this processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
