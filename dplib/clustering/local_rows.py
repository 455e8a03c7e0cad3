"""One row of each user: which one is a keyed hash of the row, the same in every order and partitioning.

A user's report is epsilon-private for the one value that it is about. A user with several rows would report about one
of them only, so one is kept before anything else: the row whose keyed hash of user and content is least. Rows with
equal hashes are equal. A user's rows decide nothing about other users.

`keep_one_row` works within a block; where a user's rows lie in several blocks, the least of the kept priorities decides
(`row_priorities`).

Reference: keyed BLAKE2b is a pseudorandom function (RFC 7693).
"""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from dplib.validate import between, require

IntArray = npt.NDArray[np.int64]
NameArray = npt.NDArray[np.uint32]

PRIORITY_BYTES = 16


def row_priorities(key: bytes, users: NameArray, points: IntArray) -> npt.NDArray[np.uint8]:
    """The place of each row in its user's queue, lexicographic, shape (n, 16).

    Args:
        key: 16 to 64 bytes, of the collection.
        users: names of the rows' users, shape (n, 3).
        points: in units, shape (n, d).
    """
    between("length of the key", len(key), 15, 65)
    require(len(users) == len(points), "points", f"be one a name ({len(users)})", len(points))
    # A name has a fixed length, so different rows are different messages.
    rows = zip(users.astype("<u4"), points.astype("<i8"), strict=True)
    digests = b"".join(
        blake2b(name.tobytes() + point.tobytes(), key=key, digest_size=PRIORITY_BYTES).digest() for name, point in rows
    )
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, PRIORITY_BYTES)


def keep_one_row(key: bytes, users: NameArray, points: IntArray) -> IntArray:
    """Positions of the rows that are kept, one a user, increasing; arguments as for `row_priorities`."""
    _, user, times = np.unique(users, axis=0, return_inverse=True, return_counts=True)
    user = user.reshape(-1)
    single = times[user] == 1
    several = np.flatnonzero(~single)
    # Only users with several rows need hashes.
    priorities = row_priorities(key, users[several], points[several])
    order = np.lexsort((*priorities.T[::-1], user[several]))
    ordered = user[several][order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return np.sort(np.concatenate([np.flatnonzero(single), several[order[first]]])).astype(np.int64)
