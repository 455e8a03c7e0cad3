"""The bytes of a release's files that do not say which ledger paid: equal for equal settings, rows and secrets."""

import json
from pathlib import Path

from dplib.release.files import MANIFEST


def unreserved(path: Path) -> bytes:
    """A file's bytes; of a manifest without the random text of its reservation, and its own checksum over that."""
    text = path.read_bytes()
    try:
        fields = json.loads(text) if path.name == MANIFEST else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return text
    fields.pop("reservation", None)
    fields.pop("checksum", None)
    return json.dumps(fields, indent=2, sort_keys=True).encode()
