"""A shop whose rows hold bad values of every kind, none of which may be seen again."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.support.jobs import ITEMS, Shop, content, noisy_days

CANARY = "Canary"
"""Stands in every value that must not be seen again."""
NUMBER = "9182736455463728"
"""A quantity that must not be seen again."""
HEADER = b"date,product,quantity,order_id,note\n"
GOOD = b"""\
2024-01-01,bread,2,a,CanaryNote
2024-01-01,milk,1,a,
2024-01-02, tea ,1.9,b,
2024-01-03,bread,9182736455463728,c,
2024-01-03,bread,-9182736455463728,c2,
2024-01-04,milk,1e400,d,
2024-01-05,"tea",3,"CanaryUnit, quoted",
"""
COUNTED = [(0, "bread", 2), (0, "milk", 1), (1, "tea", 1), (2, "bread", 5), (3, "milk", 5), (4, "tea", 3)]
"""What these rows count as: day, item, quantity within its cap, rounded down."""
BAD = b"""\
CanaryDay,bread,1,e,
2024-02-31,bread,1,e,
,bread,1,e,
2023-12-31,bread,1,e,
2024-01-15,bread,1,e,
2024-01-06,CanaryItem,1,e,
2024-01-06,BREAD,1,e,
2024-01-06,,1,e,
2024-01-06,bread,CanaryQuantity,e,
2024-01-06,bread,NaN,e,
2024-01-06,bread,,e,
2024-01-06,bread,-3,e,
2024-01-06,bread,0.5,e,
2024-01-06,bread,1,,
2024-01-06,bread,1,   ,
2024-01-06
2024-01-0
2024-01-06,bread,"Canary unclosed,e,
"""
LATIN = b"2024-01-07,caf\xe9,1,CanaryLatin\xff,\n2024-01-07,milk,1,caf\xe9,\n"
TRUNCATED = b"2024-01-08,bread,4,CanaryOrd"


def nearly_exact(shop: Shop, data: bytes) -> Shop:
    """Rows, and a budget so large that a count gets noise once in millions."""
    (shop.folder / "orders.csv").write_bytes(data)
    return shop.set(privacy__budget={"epsilon": 900}, privacy__max_rows_per_unit=3)


def texts_of(release: Path) -> str:
    """All text that a reader of a release can get at: its paths and every file."""
    texts = [*map(str, content(release))]
    for path in sorted(path for path in release.rglob("*") if path.is_file()):
        texts.append(path.read_bytes().decode("utf-8", errors="replace"))
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            texts += [str(table.to_pydict()), str(table.schema.metadata)]
    return "\n".join(texts)


EVERY_KIND = b"\xef\xbb\xbf" + (HEADER + BAD + GOOD + LATIN).replace(b"\n", b"\r\n") + TRUNCATED
"""Behind a byte-order mark, with Windows line ends, other encodings and a last line that is cut."""


def require_counted(release: Path) -> None:
    """Rows of `EVERY_KIND` count by the public rule."""
    counts = np.zeros((14, len(ITEMS)), dtype=np.int64)
    for day, item, quantity in [*COUNTED, (6, "milk", 1), (7, "bread", 4)]:
        counts[day, ITEMS.index(item)] += quantity
    assert np.array_equal(noisy_days(release, ITEMS), counts)
