"""The template that the user wrote for a model, as a load needs it."""

from dataclasses import dataclass
from pathlib import Path

from app import modelfile
from app.errors import StoreError
from app.overrides import Overrides


@dataclass(frozen=True, slots=True)
class OwnTemplate:
    """The template that the user wrote for a model ("": none), and what there is to say of it."""

    text: str = ""
    notes: tuple[str, ...] = ()


NO_TEMPLATE = OwnTemplate()


def own_template(overrides: Overrides | None, path: str) -> OwnTemplate:
    """What the user wrote for the model in this file; a file that cannot be read is the load's to refuse."""
    try:
        # Asked first, for a fingerprint reads megabytes, from a disk that may be slow.
        if overrides is None or not overrides.any():
            return OwnTemplate()
        return OwnTemplate(overrides.load(modelfile.fingerprint(Path(path))))
    except StoreError as error:
        return OwnTemplate(notes=(str(error),))
    except OSError:
        return OwnTemplate()
