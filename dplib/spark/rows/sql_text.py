"""Expressions of Spark as SQL text: one call into Java where each function of a column would be several.

What stands in such a text is names of our own columns, numbers and literals from here; a column's name that comes from
the configuration is never one.
"""

import re

_PLAIN = re.compile(r"[\w !<>=.,:/+-]*", re.ASCII)


def literal(text: str) -> str:
    """A text as SQL, whatever its signs and whatever the session's rules for escapes and variables are."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex()}' AS STRING)"
