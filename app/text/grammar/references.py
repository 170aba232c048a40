"""References within a JSON schema.  Pure; nothing is ever fetched."""

from urllib.parse import unquote

from app.errors import FormError


def target(whole: object, reference: object) -> object:
    """The place in the schema `whole` to which a `$ref` leads; raises FormError."""
    if not isinstance(reference, str):
        raise FormError("'$ref' must be a string.")
    if reference != "#" and not reference.startswith("#/"):
        raise FormError(
            f"'$ref' to '{reference[:80]}' is not supported: only places in the same schema ('#/...') are, and "
            "nothing is fetched."
        )
    found = whole
    for part in unquote(reference[1:]).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name[:6]) < len(found):
            found = found[int(name[:6])]
        else:
            raise FormError(f"'$ref' to '{reference[:80]}' leads nowhere.")
    return found
