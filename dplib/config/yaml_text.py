"""From YAML 1.2 text to plain values; what no setting can be is refused with the key and the line where it stands.

YAML 1.2 keeps ``NO``, ``on`` and ``12:30`` texts. The library reads ``1_0`` as ten and ``1e999`` as infinity, follows
aliases into themselves, and gives each half of a character that JSON writes as two escapes: all of that is met here, on
the tree of nodes, before a value is made of it. A text that is JSON, as programs write it, is YAML as well and
needs no tree unless something is wrong in it.
"""

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dplib.config.table_text import CONTROLS
from dplib.errors import ConfigError

MAX_NODES = 5_000_000
"""Values of a text, each alias counted as what it stands for."""
MAX_DEPTH = 50
"""Levels of lists and mappings inside each other; a configuration has six."""
_FREE = ("input.options", "input.path", "spark", "secret", "ledger")
"""Settings that may hold any character, for example a separator."""
MAX_KEPT = 1 << 16
"""Characters of a text whose value is kept for the next one who reads it."""
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_TEXT = "tag:yaml.org,2002:str"


def parse_yaml(text: str, name: str) -> Any:
    """The value of a text.

    Args:
        text: YAML.
        name: what the text is, for messages: ``--config`` or ``--set a.b``.

    Raises:
        ConfigError: if it is no YAML, or holds what no setting can be.
    """
    # A process that goes from day to day, or from plan to run, reads the same text again and again.
    return deepcopy(_kept(text, name)) if len(text) <= MAX_KEPT else _parsed(text, name)


@lru_cache(maxsize=8)
def _kept(text: str, name: str) -> Any:
    """The value of a short text: a reader gets a copy, which it may change."""
    return _parsed(text, name)


def _parsed(text: str, name: str) -> Any:
    try:
        found = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_json)
        _require_plain(found, 0)
    except (ValueError, RecursionError):  # another YAML, or what is refused below with its place
        return _composed(text, name)
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is a text in YAML")


def _require_plain(value: Any, depth: int) -> None:
    """Refuse what a setting may not be, or may be in some places only.

    Raises:
        ValueError: if there is any.
    """
    if isinstance(value, str):
        if CONTROLS.search(value):
            raise ValueError("control characters")
        value.encode()  # halves of characters cannot be
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    elif isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise ValueError("too deep")
        for inner in value if isinstance(value, list) else (*value, *value.values()):
            _require_plain(inner, depth + 1)


def _composed(text: str, name: str) -> Any:
    """The value of a text by way of its nodes."""
    reader = YAML(typ="safe", pure=True)
    try:
        node = reader.compose(text)
        if node is None:
            return None
        _check(node)
        return reader.constructor.construct_document(node)
    except ConfigError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}" if mark else "an unknown line"
        raise ConfigError(name, "be valid YAML", f"an error in {where}: {error.problem}") from error
    except YAMLError as error:  # for example a control character
        raise ConfigError(name, "be valid YAML", "characters that are not") from error
    except RecursionError as error:
        raise ConfigError(name, f"have at most {MAX_DEPTH} levels inside each other", "more") from error
    except (ValueError, OverflowError) as error:  # a day that is none, a number of thousands of digits
        raise ConfigError(name, "hold values that can be read", f"one that cannot: {error}") from error


def _check(root: Node) -> None:
    """Walk over all nodes, each as often as aliases name it; a few aliases into each other name more than could be."""
    if _count(root) > MAX_NODES:
        raise ConfigError("the configuration", f"hold at most {MAX_NODES:,} values", "more through its aliases")
    waiting: list[tuple[Node, str, tuple[int, ...]]] = [(root, "", ())]
    while waiting:
        node, path, inside = waiting.pop()
        where = f"line {node.start_mark.line + 1}"
        if id(node) in inside:
            raise ConfigError(path, "not hold itself", f"an alias that does in {where}")
        if len(inside) > MAX_DEPTH:
            raise ConfigError(path[:80], f"have at most {MAX_DEPTH} levels inside each other", f"more in {where}")
        if isinstance(node, ScalarNode):
            _check_scalar(node, path, where)
        else:
            waiting.extend((child, name, (*inside, id(node))) for child, name in _children(node, path))


def _count(root: Node) -> int:
    """Values of all nodes, each as often as aliases name it, after one look at each; one inside itself is left out."""
    counts: dict[int, int] = {}
    waiting = [(root, False)]
    while waiting:
        node, is_below_counted = waiting.pop()
        if is_below_counted:
            counts[id(node)] = 1 + sum(counts[id(child)] for child, _ in _children(node, ""))
        elif id(node) not in counts:
            counts[id(node)] = 0
            waiting += [(node, True), *((child, False) for child, _ in _children(node, ""))]
    return counts[id(root)]


def _children(node: Node, path: str) -> Iterator[tuple[Node, str]]:
    if isinstance(node, SequenceNode):
        for place, child in enumerate(node.value):
            yield child, f"{path}.{place}" if path else str(place)
    elif isinstance(node, MappingNode):
        for key, child in node.value:
            name = str(key.value) if isinstance(key, ScalarNode) else "a key"
            inner = f"{path}.{name}" if path else name
            yield key, inner
            yield child, inner


def _check_scalar(node: ScalarNode, path: str, where: str) -> None:
    if node.tag in (_INT, _FLOAT):
        if "_" in node.value:
            raise ConfigError(path, "be a number without underscores", f"{node.value} in {where}")
        if node.tag == _FLOAT and not math.isfinite(float(node.value.replace(".inf", "inf").replace(".nan", "nan"))):
            raise ConfigError(path, "be a finite number", f"{node.value} in {where}")
        return
    node.value = _whole(node.value, path, where)
    free = any(path == name or path.startswith(f"{name}.") for name in _FREE)
    if node.tag == _TEXT and not free and CONTROLS.search(node.value):
        raise ConfigError(path, "be a text without control characters", f"{node.value!r} in {where}")


def _whole(text: str, path: str, where: str) -> str:
    """The text, halves of characters joined."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ConfigError(f"{path!a}", "be a text of whole characters", f"half a one in {where}") from None
