"""The parameters of a tool: the schemas of objects of which their arguments keep one.  Pure."""

from app.errors import FormError
from app.text.grammar.references import target
from app.text.grammar.schema import MAX_CHOICES, NOTES

Parameters = dict[str, object]
"""A JSON schema of an object, and of nothing else."""

_LEADING = ("$ref", "anyOf", "oneOf", "allOf")
"""Keywords at the top that say where the schemas of objects are."""
_FIXED = ("enum", "const")


def alternatives(schema: object) -> list[Parameters]:
    """Those that a tool's schema names, of which one must be kept; raises FormError.

    Arguments are always an object: what of a schema allows something else says nothing.
    """
    found: list[Parameters] = []
    todo, seen = [schema], 0
    while todo:
        seen += 1
        if seen + len(todo) > MAX_CHOICES:
            raise FormError(f"The parameters have more than {MAX_CHOICES:,} alternatives.")
        one = todo.pop()
        if one is True:
            found.append({"type": "object"})
        elif not isinstance(one, dict):
            raise FormError("The parameters of a tool must be a schema.")
        elif _may_be_object(one):
            name = next((name for name in (*_FIXED, *_LEADING) if name in one), "")
            if name:
                todo += reversed(_led_to(schema, one, name))
            else:
                found.append({**one, "type": "object"})
    if not found:
        raise FormError("The parameters of a tool must be an object.")
    return found


def _may_be_object(schema: Parameters) -> bool:
    kinds = schema.get("type", "object")
    return "object" in (kinds if isinstance(kinds, list) else [kinds])


def _led_to(whole: object, schema: Parameters, name: str) -> list[object]:
    """The schemas that this keyword at the top names."""
    if name in _FIXED:
        raise FormError(f"'{name}' at the top of the parameters is not supported.")
    other = next((key for key in schema if key not in NOTES | {name, "type"}), None)
    if other is not None:
        raise FormError(
            f"'{other[:80]}' beside '{name}' at the top of the parameters is not supported."
        )
    if name == "$ref":
        return [target(whole, schema[name])]
    inner = schema[name]
    if not isinstance(inner, list) or not 0 < len(inner) <= MAX_CHOICES:
        raise FormError(f"'{name}' must be a list of 1 to {MAX_CHOICES:,}.")
    if name == "allOf" and len(inner) > 1:
        raise FormError("'allOf' of more than one schema is not supported.")
    return inner
