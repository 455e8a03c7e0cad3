"""Expressions of Spark as SQL text: one call into Java where each function of a column would be several.

What stands in such a text is names of our own columns, numbers and literals from here; a column's name that comes from
the configuration is never one.
"""

import re
from collections.abc import Mapping

_PLAIN = re.compile(r"[^'\\$\ud800-\udfff]*")
"""Texts without signs that an escape, the literal's end or a variable begin with."""


def literal(text: str) -> str:
    """A text as SQL, whatever its signs and whatever the session's rules for escapes and variables are."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex()}' AS STRING)"


def once(columns: Mapping[str, str]) -> str:
    """Columns, each as SQL, out of a struct: as plain ones Spark would write them out at each place that looks at them.

    A plan that is many times as long takes as much longer to work out.
    """
    fields = ", ".join(f"'{name}', {column}" for name, column in columns.items())
    return f"inline(array(named_struct({fields})))"
