"""Put this checkout into the desktop's menu, for the current user: `make launcher`, `make launcher ARGS=--remove`.

The entry names the program and the icon by their absolute paths, so it works from wherever it is started, and
`TryExec` lets desktops hide it once the checkout is gone.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATE = Path(__file__).parent / "tutti.desktop"


def main(arguments: list[str]) -> int:
    """Write (or remove) the entry; says where it is."""
    target = applications_dir() / TEMPLATE.name
    if "--remove" in arguments:
        target.unlink(missing_ok=True)
        print(f"removed {target}")
    else:
        write(target, ROOT / ".venv" / "bin" / "tutti", ROOT / "resources" / "icons" / "tutti.svg")
        print(f"Tutti is in the menu: {target}")
    updater = shutil.which("update-desktop-database")
    if updater and target.parent.is_dir():
        subprocess.run([updater, str(target.parent)], check=False)
    return 0


def applications_dir() -> Path:
    """Where the current user's menu entries lie."""
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data_home) / "applications"


def write(target: Path, program: Path, icon: Path) -> None:
    """Write the entry by rename, executable (some desktops start only such ones by double click)."""
    text = entry(TEMPLATE.read_text(encoding="utf-8"), program, icon)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(0o755)
    beside.replace(target)


def entry(template: str, program: Path, icon: Path) -> str:
    """The template with these paths in place of the bare names."""
    lines = {
        "Exec": f"Exec={exec_word(str(program))}",
        "Icon": f"Icon={string_value(str(icon))}\nTryExec={string_value(str(program))}",
    }
    return re.sub(r"^(Exec|Icon)=.*$", lambda found: lines[found[1]], template, flags=re.MULTILINE)


def exec_word(word: str) -> str:
    """One word of an Exec line: quoted, its special characters escaped, then escaped again as a string value."""
    quoted = re.sub(r'(["`$\\])', r"\\\1", word.replace("%", "%%"))
    return string_value(f'"{quoted}"')


def string_value(text: str) -> str:
    """A string value of a desktop file."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
