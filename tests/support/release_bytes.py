"""The bytes of a release's files that do not say which ledger paid: equal for equal settings, rows and secrets.

It imports no dplib: the tests of the DAGs run in Airflow's own environment.
"""

import json
from pathlib import Path


def unreserved(path: Path) -> bytes:
    """A file's bytes without the random text of its reservation; of a manifest without its own checksum over that."""
    if path.name == ".reservation":
        return b""
    text = path.read_bytes()
    try:
        fields = json.loads(text) if path.name == "manifest.json" else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return text
    fields.pop("reservation", None)
    fields.pop("checksum", None)
    return json.dumps(fields, indent=2, sort_keys=True).encode()
