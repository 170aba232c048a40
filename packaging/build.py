"""Build the frozen folder `dist/tutti`: `make bundle`.  `packaging/smoke.py` then tries it.

llama.cpp is taken as it was compiled for this checkout: for processors like this machine's, unless CMAKE_ARGS said
otherwise when it was set up.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import bundle_rules
from provision import locks
from provision.console import StatusLine, run_logged
from provision.errors import CommandFailed, SetupError

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "bundle"
FOLDER = ROOT / "dist" / "tutti"
LOG = ROOT / "build" / "bundle.log"
_LICENCE = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)


def main() -> int:
    """Build, trim, and say how large it is."""
    try:
        freeze()
    except (SetupError, CommandFailed) as error:
        reason = (
            error.explained("building the bundle") if isinstance(error, CommandFailed) else error
        )
        print(f"tutti: {reason}", file=sys.stderr)
        return 1
    remove_dangling_links(FOLDER)
    trim(FOLDER)
    copy_licences(FOLDER / "_internal" / "licences")
    write_versions(FOLDER / "_internal")
    size = sum(path.lstat().st_size for path in FOLDER.rglob("*") if not path.is_dir())
    print(f"{FOLDER.relative_to(ROOT)}: {size / 1e6:.0f} MB. Try it: packaging/smoke.py {FOLDER}")
    return 0


def freeze() -> None:
    """Run PyInstaller.  A library that it cannot find here is a failure here, not on the user's machine."""
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_text("", encoding="utf-8")
    line = StatusLine()
    line.start("building the bundle; this takes about a minute")
    command: list[str | Path] = [
        sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "INFO",
        "--distpath", FOLDER.parent, "--workpath", WORK, ROOT / "packaging" / "app.spec",
    ]  # fmt: skip
    run_logged(command, log=LOG, on_line=lambda text: line.show(f"  {text[:70]}"), cwd=ROOT)
    line.done("built")
    missing = bundle_rules.unresolved(LOG.read_text(encoding="utf-8").splitlines())
    if missing:
        raise SetupError(
            f"this machine lacks libraries that belong into the bundle: {', '.join(missing)}"
        )


def remove_dangling_links(folder: Path) -> None:
    """Links to what was left out."""
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()


def trim(folder: Path) -> None:
    """Take debug information out of Python's own files; other libraries do not bear stripping (numpy's break)."""
    strip = shutil.which("strip")
    if sys.platform != "linux" or strip is None:
        return
    for path in folder.rglob("*.so*"):
        own = path.name.startswith("libpython3") or path.parent.name == "lib-dynload"
        if own and not path.is_symlink():
            subprocess.run([strip, "--strip-debug", str(path)], check=True)


def copy_licences(target: Path) -> None:
    """The licence files of all packages that the app's lock names and that are installed here."""
    for pin in locks.pins(locks.path("app")):
        if not installed_version(pin.name):
            continue
        for file in importlib.metadata.files(pin.name) or []:
            source = Path(str(file.locate()))
            if _LICENCE.search(file.name) and file.suffix != ".py" and source.is_file():
                (target / pin.name).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target / pin.name / file.name)


def write_versions(target: Path) -> None:
    """Names and versions of the app's packages, for `tutti doctor`; of their descriptions (which name package
    indexes and authors' machines) nothing."""
    for folder in target.glob("*.dist-info"):
        shutil.rmtree(folder)
    # A lock for all systems and Pythons can name a package twice.
    for name in {pin.name for pin in locks.pins(locks.path("app"))}:
        if version := installed_version(name):
            folder = target / f"{name.replace('-', '_')}-{version}.dist-info"
            folder.mkdir()
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (folder / "METADATA").write_text(text, encoding="utf-8")


def installed_version(name: str) -> str:
    """The version of a package here; empty where it is not installed (another system's)."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
