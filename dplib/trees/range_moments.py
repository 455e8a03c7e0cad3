"""What a node must know of its bins so that the error of all ranges adds up from the leaves to the root.

Take least-squares estimates on a tree of independent noisy counts. With C_c the variance of child c's estimate from
its own subtree and S the sum over the children, the final errors of the children given the parent's final error e_x
are e_c = (C_c / S) e_x + (what is independent of e_x), and the independent parts of siblings have covariance
C_c [c = d] - C_c C_d / S. So the error of any part of a node's bins is ``a e_x + rest``: a *share* a and a residual
variance r. The part of x that ends inside child c, with shares W to the left, has

    a_x = T / S,   T = W + a_c C_c,      r_x = r_c + W + a_c^2 C_c - T^2 / S,

and a range from inside child c to inside child d has the same form with the suffix of c, the children between and the
prefix of d. The sum of the variances over all ranges inside x is ``rest_x + gain_x Var(e_x)``, and both terms follow
from sums of 1, a, a^2 and r over the cuts of the children. Nothing is enumerated.

Ranges are weighted: a range from bin f to bin g counts u_f v_g (product-form workloads; all ones for uniform).

Cost: O(children) a node. Every row of moments has the columns named below.

References:
    Chou, Willsky, Benveniste, "Multiscale recursive estimation, data fusion, and regularization", IEEE Transactions
    on Automatic Control 39(3), 1994 (least squares on trees; the moments of cuts are this project's).
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.compiled import compiled

VARIANCE = 0
"""Column: C, the variance of the node's estimate from its own subtree."""
SUFFIX = 1
"""First of four columns: sums of u, u a, u a^2, u r over the parts that begin at a bin and end with the node."""
PREFIX = 5
"""First of four columns: sums of v, v a, v a^2, v r over the parts that begin with the node and end at a bin."""
REST = 9
"""Column: the part of the ranges' summed variance that does not depend on the node's final variance."""
GAIN = 10
"""Column: the factor of the node's final variance in it."""
N_COLUMNS = 11


@compiled
def leaf_moments(row: FloatArray, variance: float, starts: float, ends: float) -> None:
    """Fill the row of a bin of the given variance, at which ranges start and end with the given weights."""
    row[:] = 0.0
    row[VARIANCE] = variance
    row[SUFFIX : SUFFIX + 3] = starts
    row[PREFIX : PREFIX + 3] = ends
    row[GAIN] = starts * ends


@compiled
def combined_variance(total: float, variance: float) -> float:
    """Variance of the best combination of the children's sum (``total``) and a node's own measurement."""
    return total if np.isinf(variance) else total * (variance / (total + variance))


@compiled
def combine_moments(children: FloatArray, variance: float, row: FloatArray) -> None:
    """Fill a node's row.

    Args:
        children: rows of its children from left to right, shape (k, N_COLUMNS).
        variance: of the node's own measurement; inf where not measured, 0 where known.
        row: the node's row, written.
    """
    total = 0.0
    for child in children:
        total += child[VARIANCE]
    row[:] = 0.0
    row[VARIANCE] = combined_variance(total, variance)
    left = 0.0  # sum of C over the children before this one
    # Suffixes of earlier children, written with x = a C - (C up to their own child): then T = x + y.
    x0 = x1 = x2 = xr = 0.0
    square = 0.0  # sum of T^2 over the ranges that cross children
    for child in children:
        c = child[VARIANCE]
        right = total - left - c
        y0 = child[PREFIX]
        y1 = left * y0 + c * child[PREFIX + 1]
        y2 = left * left * y0 + 2 * left * c * child[PREFIX + 1] + c * c * child[PREFIX + 2]
        yr = child[PREFIX + 3] + left * y0 + c * child[PREFIX + 2]
        square += x2 * y0 + 2 * x1 * y1 + x0 * y2
        row[REST] += xr * y0 + x0 * yr
        row[PREFIX] += y0
        row[PREFIX + 1] += y1 / total
        row[PREFIX + 2] += y2 / (total * total)
        row[PREFIX + 3] += yr - y2 / total
        s0, s1, s2 = child[SUFFIX], child[SUFFIX + 1], child[SUFFIX + 2]
        z2 = right * right * s0 + 2 * right * c * s1 + c * c * s2
        row[SUFFIX] += s0
        row[SUFFIX + 1] += (right * s0 + c * s1) / total
        row[SUFFIX + 2] += z2 / (total * total)
        row[SUFFIX + 3] += child[SUFFIX + 3] + right * s0 + c * s2 - z2 / total
        share = c / total
        row[REST] += child[REST] + child[GAIN] * (c - c * share)
        row[GAIN] += child[GAIN] * share * share
        left += c
        x0 += s0
        x1 += c * s1 - left * s0
        x2 += c * c * s2 - 2 * left * c * s1 + left * left * s0
        xr += child[SUFFIX + 3] + c * s2 - left * s0
    row[REST] -= square / total
    row[GAIN] += square / (total * total)


@compiled
def total_of_root(row: FloatArray) -> float:
    """Weighted sum of the variances of all ranges, from the root's row."""
    return float(row[REST] + row[GAIN] * row[VARIANCE])
