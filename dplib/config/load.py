"""From a YAML 1.2 file to a checked, frozen configuration.

YAML 1.2 keeps ``NO``, ``on`` and ``12:30`` strings. ``--set a.b=c`` replaces one value before the check, ``a.0.b=c`` in
the first element of a list; ``--date`` fills ``{date}`` in ``input.path`` and ``domain``. Every error is one sentence
that names the key.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dplib.config.messages import first_error
from dplib.config.paths import read_text
from dplib.errors import ConfigError
from dplib.version import __version__

MAX_BYTES = 1 << 26
"""Of a configuration."""
CONFIG_VERSION = 1
"""The version of settings that this package reads; raised when a key changes its meaning."""
Model = TypeVar("Model", bound=BaseModel)


def _value(text: str, name: str) -> Any:
    # Imported where it is needed: whoever asks a release reads no settings.
    from dplib.config.yaml_text import parse_yaml

    return parse_yaml(text, name)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read one YAML mapping.

    Raises:
        ConfigError: if the file cannot be read or is not a mapping.
    """
    loaded = _value(read_text("--config", path, MAX_BYTES, str(path)), "--config")
    if not isinstance(loaded, dict):
        raise ConfigError("--config", "hold a mapping of settings", path)
    return loaded


def read_setting(path: Path, name: str, default: str) -> str:
    """A setting at the top of a file as text, before anything is checked.

    Raises:
        ConfigError: if the file cannot be read or is not a mapping.
    """
    return str(read_yaml(path).get(name, default))


def override(settings: dict[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Apply ``a.b=c`` assignments; the right-hand side is read as YAML.

    Raises:
        ConfigError: if an assignment has no ``=`` or goes through what is neither a mapping nor a list that long.
    """
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key:
            raise ConfigError("--set", "have the form a.b=value", assignment)
        *path, last = key.split(".")
        target: Any = settings
        for step in path:
            target = target.setdefault(step, {}) if isinstance(target, dict) else target[_place(target, step, key)]
        target[last if isinstance(target, dict) else _place(target, last, key)] = _value(text, f"--set {key}")
    return settings


def _place(target: Any, step: str, key: str) -> int:
    """The place of a list that a part of a key names.

    Raises:
        ConfigError: if it names none.
    """
    inside = isinstance(target, list) and step.isascii() and step.isdecimal() and int(step) < len(target)
    if not inside:
        raise ConfigError("--set", "name a key inside mappings, or an element of a list by its number from 0", key)
    return int(step)


def fill_date(value: Any, date: str) -> Any:
    """Replace ``{date}`` in every string of a nested value."""
    if isinstance(value, str):
        return value.replace("{date}", date)
    if isinstance(value, dict):
        return {key: fill_date(inner, date) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill_date(inner, date) for inner in value]
    return value


def read_settings(path: Path, assignments: Sequence[str] = (), date: str = "") -> dict[str, Any]:
    """Read a configuration, override and date it; nothing is checked yet.

    Args:
        path: YAML file.
        assignments: ``--set`` values.
        date: logical date; empty when the run has none.

    Raises:
        ConfigError: if there is no such mapping, or an assignment fits none.
    """
    settings = override(read_yaml(path), assignments)
    # That of a stream stands for each of the days that its run reads, and is the same in the settings of all runs.
    if isinstance(settings.get("input"), dict) and "path" in settings["input"] and settings.get("stream") is None:
        settings["input"]["path"] = fill_date(settings["input"]["path"], date)
    if "domain" in settings:
        settings["domain"] = fill_date(settings["domain"], date)
    return settings


def check(model: type[Model], settings: Mapping[str, Any]) -> Model:
    """Validate a mapping and turn the first error into one sentence.

    Raises:
        ConfigError: the sentence.
    """
    if "config_version" in model.model_fields:
        _require_version(settings)
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise first_error(model, settings, error.errors(include_url=False)) from None


def _require_version(settings: Mapping[str, Any]) -> None:
    """Refuse settings of another version before their keys are looked at, which may mean something else there."""
    given = settings.get("config_version")
    if type(given) is int and given == CONFIG_VERSION:
        return
    if given is None:
        way, got = "add the line to the file; dplib example JOB shows a whole one", "nothing"
    elif type(given) is int and given > CONFIG_VERSION:
        way, got = "install a newer dplib, or start again from dplib example JOB", str(given)
    else:
        way, got = "a whole number without quotes", repr(given)
    rule = f"be {CONFIG_VERSION}, the version of settings that dplib {__version__} reads ({way})"
    raise ConfigError("config_version", rule, got)
