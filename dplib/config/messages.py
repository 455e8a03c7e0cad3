"""From pydantic's errors to ours: ``<dotted key> must <rule>, got <value>``.

The key is the one that stands in the YAML file: what pydantic adds (branches of a union, names of models) is left out
by walking the settings that were given.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from dplib.errors import ConfigError
from dplib.validate import did_you_mean

Keys = tuple[int | str, ...]

_RULES = {
    "model_type": "be a mapping",
    "dict_type": "be a mapping",
    "list_type": "be a list",
    "tuple_type": "be a list",
    "string_type": "be a text (in quotes where it looks like something else)",
    "int_type": "be a whole number",
    "int_parsing": "be a whole number",
    "int_from_float": "be a whole number",
    "float_type": "be a number",
    "float_parsing": "be a number",
    "bool_type": "be true or false",
    "bool_parsing": "be true or false",
    "date_type": "be a day YYYY-MM-DD",
    "date_parsing": "be a day YYYY-MM-DD",
    "date_from_datetime_parsing": "be a day YYYY-MM-DD",
    "date_from_datetime_inexact": "be a day YYYY-MM-DD",
    "greater_than": "be above {gt}",
    "greater_than_equal": "be at least {ge}",
    "less_than": "be below {lt}",
    "less_than_equal": "be at most {le}",
    "string_pattern_mismatch": "match the pattern {pattern}",
    "literal_error": "be {expected}",
    "too_short": "hold at least {min_length}",
    "too_long": "hold at most {max_length}",
}
"""Rules by pydantic's type of error; anything else keeps pydantic's words."""


def first_error(model: type[BaseModel], settings: Mapping[str, Any], errors: Sequence[ErrorDetails]) -> ConfigError:
    """The error of the first wrong setting.

    Args:
        model: what the settings were checked against.
        settings: as they were given.
        errors: pydantic's, at least one.
    """
    located = [(_keys(settings, error), error) for error in errors]
    first = located[0][0]
    # Where a union was tried, the branch that got furthest says best what is wrong.
    keys = max((keys for keys, _ in located if keys[: len(first)] == first), key=len)
    same = [error for found, error in located if found == keys]
    return _told(model, ".".join(map(str, keys)), keys, same)


def _told(model: type[BaseModel], key: str, keys: Keys, errors: Sequence[ErrorDetails]) -> ConfigError:
    error = errors[0]
    match error["type"]:
        case "missing":
            return ConfigError(key, "be set", "nothing")
        case "extra_forbidden":
            known = _fields_at(model, keys[:-1])
            hint = did_you_mean(str(keys[-1]), known) or f" (known: {', '.join(sorted(known))})"
            return ConfigError(key, "be a known setting", f"an unknown key{hint if known else ''}")
        case "value_error":
            text = error["msg"].removeprefix("Value error, ")
            # A model's own validators write whole sentences; a field's rule lacks the key.
            name, _, said = text.rpartition("must ") if text.startswith("must ") else text.partition(" must ")
            rule, _, got = said.partition(", got ")
            return ConfigError(name or key, rule, got)
    rules = list(dict.fromkeys(_rule(each) for each in errors))
    joined = " or ".join([rules[0], *(rule.removeprefix("be ") for rule in rules[1:])])
    named = [name for each in errors for name in re.findall("'([^']*)'", str(each.get("ctx", {}).get("expected", "")))]
    hint = did_you_mean(error["input"], named) if isinstance(error["input"], str) else ""
    return ConfigError(key, joined, _shown(error["input"]) + hint)


def _rule(error: ErrorDetails) -> str:
    known = _RULES.get(error["type"])
    if known is not None:
        return known.format_map(error.get("ctx", {}))
    rule = error["msg"].removeprefix("Input should ").removeprefix("Value should ")
    return rule if rule.startswith("be ") else f"satisfy: {rule}"


def _keys(settings: Mapping[str, Any], error: ErrorDetails) -> Keys:
    """The parts of an error's place that are the user's own keys."""
    keys: list[int | str] = []
    current: Any = settings
    for part in error["loc"]:
        in_mapping = isinstance(current, Mapping) and part in current
        if in_mapping or (isinstance(current, list | tuple) and isinstance(part, int)):
            current = current[part]
            keys.append(part)
    if error["type"] == "missing":
        keys.append(error["loc"][-1])
    return tuple(keys)


def _shown(value: object) -> str:
    text = (value or "an empty text") if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _fields_at(model: type[BaseModel], keys: Keys) -> list[str]:
    """The settings that the section at ``keys`` has."""
    sections = [model]
    for key in keys:
        fields = [
            field for section in sections for name, field in section.model_fields.items() if key in (name, field.alias)
        ]
        # A key that is no field stands in a list or a mapping, whose sections were found already.
        if fields:
            sections = [section for field in fields for section in _sections(field.annotation)]
    return [field.alias or name for section in sections for name, field in section.model_fields.items()]


def _sections(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for inner in get_args(annotation) for section in _sections(inner)]
