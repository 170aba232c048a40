"""Prompt templates that the user wrote in place of the models' own: a file for each model, in the app's data.

A file is named by the fingerprint of its model, so that it belongs to the model's content wherever that lies.  It holds
the template as it is, for any editor.  Calls read and write the disk: not for the window's thread.
"""

from pathlib import Path

from app import paths, privatefile
from app.errors import StoreError
from app.prompting import MAX_TEMPLATE

_SUFFIX = ".jinja"
_MOST_BYTES = 4 * MAX_TEMPLATE


def templates_dir() -> Path:
    """Where they lie."""
    return paths.data_dir() / "templates"


class Overrides:
    """The user's templates in one folder, which is made with the first of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def any(self) -> bool:
        """Whether there is a template for any model; raises StoreError where that cannot be told."""
        try:
            return any(path.suffix == _SUFFIX for path in self._folder.iterdir())
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(
                f"Your prompt templates, in {self._folder}, cannot be read: {error.strerror}. "
                "The model's own is used instead."
            ) from error

    def load(self, fingerprint: str) -> str:
        """The template for this model, "" where there is none; raises StoreError for a file that cannot be read."""
        path = self._path(fingerprint)
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise self._unusable(path, "it is far too large")
            return path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise self._unusable(path, "it is not valid text") from error
        except OSError as error:
            raise self._unusable(path, error.strerror or type(error).__name__) from error

    def save(self, fingerprint: str, text: str) -> None:
        """Keep this template for this model, or ("") none; raises StoreError, and then nothing has changed."""
        path = self._path(fingerprint)
        try:
            if text:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                privatefile.write(path, text)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"The template could not be saved: {error.strerror}.",
                "Check that the disk has room and that the data folder can be written.",
            ) from error
        except UnicodeError as error:
            raise StoreError("The template could not be saved: it is not valid text.") from error

    def _path(self, fingerprint: str) -> Path:
        return self._folder / f"{fingerprint}{_SUFFIX}"

    @staticmethod
    def _unusable(path: Path, why: str) -> StoreError:
        return StoreError(
            f"Your prompt template for this model, {path.name}, cannot be used: {why}. "
            "The model's own is used instead."
        )
