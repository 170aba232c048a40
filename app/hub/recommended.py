"""The recommended models for this machine and this person, from the list that ships with the app."""

import json
import locale

from app import paths
from app.hub import curated
from app.hub.curated import Recommended
from app.sizing.machine import measure


def here() -> tuple[Recommended, ...]:
    """The best first; none where the list is not there."""
    try:
        raw = json.loads((paths.resources_dir() / "models.json").read_bytes())
    except (OSError, ValueError):
        return ()
    language = (locale.getlocale()[0] or "en")[:2].lower()
    return curated.order(curated.parse(raw), measure().free, language)
