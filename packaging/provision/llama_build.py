"""One compile of llama-cpp-python from the source that the lock names.

The work folder outlives an interruption: the next try goes on where this one was.  The build's own requirements
(CMake, ninja, the build backend) come from a lock too, into an environment of their own.
"""

import os
import shlex
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from provision import locks
from provision.console import NinjaProgress
from provision.environment import Environment
from provision.errors import SetupError

PACKAGE = "llama-cpp-python"
CORE_ONLY = Path(__file__).parent / "core_only.cmake"
PROCESSOR = Path(__file__).parent / "processor.cmake"
FLAGS = ("-DLLAVA_BUILD=OFF",)
"""Neither vision nor llama.cpp's own tools are used: together they are over half of the compile."""

_MEMORY_A_JOB = 1_000_000_000


def pin() -> locks.Pin:
    """The locked version and its hash."""
    return locks.pin(locks.path("app"), PACKAGE)


class Build:
    """One compile in one work folder, which outlives an interruption."""

    def __init__(self, work: Path, log: Path, say: Callable[[str], None]) -> None:
        self._work = work
        self._log = log
        self._say = say
        self._tools = Environment(work / "tools", log, say)
        self._source = work / f"llama_cpp_python-{pin().version}"

    def wheel(self) -> Path:
        """Compile; the path of the wheel in the work folder."""
        self._work.mkdir(parents=True, exist_ok=True)
        if not self._tools.works():
            self._tools.make()
        self._tools.install_lock(locks.path("build"))
        if not (self._source / "CMakeLists.txt").exists():
            self._unpack(self._fetch())
        return self._compile()

    def _fetch(self) -> Path:
        """The source archive, its hash checked against the lock by pip and once more here."""
        self._say("fetching the source of llama.cpp")
        wanted = self._work / "llama.txt"
        wanted.write_text(pin().text, encoding="utf-8")
        self._tools.pip(
            ["download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes",
             "-d", self._work, "-r", wanted],
            "fetching the source of llama.cpp",
        )  # fmt: skip
        archive = self._work / f"llama_cpp_python-{pin().version}.tar.gz"
        self.check(archive)
        return archive

    def check(self, archive: Path) -> None:
        """Refuse, and remove, an archive whose content is not what the lock names."""
        if locks.sha256(archive) not in pin().hashes:
            archive.unlink()
            raise SetupError(f"{archive.name} is not the file that the lock names; it was removed.")

    def _unpack(self, archive: Path) -> None:
        """Unpack beside and rename, so that half an archive is never taken for the whole."""
        self._say("unpacking the source of llama.cpp")
        beside = self._work / "unpacking"
        shutil.rmtree(beside, ignore_errors=True)
        with tarfile.open(archive) as tar:
            tar.extractall(beside, filter="data")
        (beside / self._source.name).rename(self._source)
        shutil.rmtree(beside)
        archive.unlink()

    def _compile(self) -> Path:
        progress = NinjaProgress()

        def on_line(line: str) -> None:
            text = progress.read(line)
            if text is not None:
                self._say(f"compiling llama.cpp {text}")

        self._say("configuring llama.cpp")
        out = self._work / "wheel"
        self._tools.pip(
            ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "--no-cache-dir", "-v",
             f"--config-settings=build-dir={self._work / 'objects'}", "-w", out, self._source],
            "compiling llama.cpp",
            on_line,
            extra=build_environment(self._source, self._work),
        )  # fmt: skip
        return next(iter(out.glob("*.whl")))


def build_environment(source: Path, work: Path) -> dict[str, str]:
    """Flags and number of jobs.  The compiler is told to write no folder of this machine into the libraries."""
    flags = [*FLAGS, f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={CORE_ONLY.as_posix()}"]
    extra = {
        "CMAKE_ARGS": f"{shlex.join(flags)} {os.environ.get('CMAKE_ARGS', '')}".strip(),
        "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(_jobs())),
    }
    if sys.platform != "win32":
        extra["CMAKE_GENERATOR"] = "Ninja"
        anonymous = f'"-ffile-prefix-map={source}/=./" "-ffile-prefix-map={work}/=./"'
        for name in ("CFLAGS", "CXXFLAGS"):
            extra[name] = f"{os.environ.get(name, '')} {anonymous}".strip()
    return extra


def _jobs() -> int:
    """One job a core, but no more than memory allows: a file of llama.cpp takes up to 1 GB to compile."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    if sys.platform != "linux":
        return cores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, memory // _MEMORY_A_JOB))
