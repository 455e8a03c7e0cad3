from fractions import Fraction

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.privacy.noise import Law
from dplib.trees.budgets import WHOLE
from dplib.trees.complete import kary_tree
from tests.support.goodness_of_fit import PASS, REJECT, chi_square_p_value

KEY = bytes(range(32))


def test_noise_has_the_stated_scale_and_no_other() -> None:
    tree = kary_tree(20_000, 20_000)
    shares = np.full(tree.n_nodes, WHOLE // 4)
    shares[0] = 0
    mechanism = NodeMechanism(KEY, "x", "laplace", Fraction(1, 2), Fraction(2))
    noise = mechanism(tree, np.full(tree.n_nodes, 5), shares)
    assert noise[0] == 0  # not measured
    scale = Fraction(16)  # 2 / (1/4 * 1/2)
    assert mechanism.variances(shares)[1] == Law.LAPLACE.variance(scale)
    assert mechanism.variances(shares)[0] == np.inf
    draws = noise[1:] - 5
    assert chi_square_p_value(draws, lambda k: discrete_laplace_probability(k, scale)) > PASS
    assert chi_square_p_value(draws, lambda k: discrete_laplace_probability(k, scale * Fraction(13, 10))) < REJECT


def test_same_key_same_noise_whatever_the_counts() -> None:
    tree = kary_tree(50, 3)
    shares = np.where(tree.child_count > 0, WHOLE // 8, WHOLE // 2)
    mechanism = NodeMechanism(KEY, "x", "gaussian", Fraction(1, 10))
    zero, ten = mechanism(tree, np.zeros(tree.n_nodes, int), shares), mechanism(tree, np.full(tree.n_nodes, 10), shares)
    assert np.array_equal(ten - zero, np.full(tree.n_nodes, 10))
    other = NodeMechanism(KEY, "y", "gaussian", Fraction(1, 10))
    assert not np.array_equal(other(tree, np.zeros(tree.n_nodes, int), shares), zero)


def test_overspending_is_refused_before_noise_is_drawn() -> None:
    tree = kary_tree(8, 2)
    with pytest.raises(ConfigError, match="path that spends more"):
        NodeMechanism(KEY, "x", "laplace", Fraction(1))(tree, np.zeros(15, int), np.full(15, WHOLE // 3))
    with pytest.raises(ConfigError, match="counts must be 15 64-bit integers"):
        NodeMechanism(KEY, "x", "laplace", Fraction(1))(tree, np.zeros(15), np.full(15, WHOLE // 4))
