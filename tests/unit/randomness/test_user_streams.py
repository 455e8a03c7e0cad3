"""Streams of many users: the same words in every order, exact draws through every tie, names that never meet."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplib.errors import ConfigError
from dplib.randomness.digits import Logistic, Probability
from dplib.randomness.user_streams import UserStreams, name_users, number_users
from tests.support.goodness_of_fit import PASS
from tests.support.streams import Rational

KEY = bytes(range(32))


def _drawn(streams: UserStreams, law: Probability, size: int) -> np.ndarray:
    return np.concatenate([drawn for _, drawn in streams.bernoulli(law, size)])


def test_words_belong_to_the_user_and_the_labels() -> None:
    users = number_users(np.arange(1000))
    streams = UserStreams(KEY, users, "a", 1)
    words = streams.uint64(5)
    order = np.random.default_rng(0).permutation(1000)
    assert (UserStreams(KEY, users[order], "a", 1).uint64(5) == words[order]).all()
    assert (streams.of(order[:10]).uint64(3) == words[order[:10], :3]).all()
    assert (UserStreams(KEY, users).under("a").under(1).uint64(5) == words).all()
    assert len(np.unique(words)) == words.size
    for other in (streams.under("b"), UserStreams(bytes(32), users, "a", 1), UserStreams(KEY, users, "a1")):
        assert not (other.uint64(5) == words).any()


def test_draws_do_not_depend_on_how_many_are_asked_for() -> None:
    streams = UserStreams(KEY, number_users(np.arange(300)), "draws")
    long = _drawn(streams, Logistic(Fraction(1)), 3000)
    assert (long[:, :7] == _drawn(streams, Logistic(Fraction(1)), 7)).all()
    assert (long[:, 0] == streams.bernoulli_once(Logistic(Fraction(1)))).all()
    p = 1 / (1 + np.e)
    assert stats.binomtest(int(long.sum()), long.size, p).pvalue > PASS


def test_ties_go_on_through_all_words() -> None:
    # p is built around the very words of a user, so that 16, then 80, digits agree.
    users = number_users(np.arange(4))
    streams = UserStreams(KEY, users, "ties")
    first = int(streams.uint64(1)[2, 0]) & 0xFFFF
    more = np.array([[*users[2], 0]], dtype="<u4")
    second = int(streams._encrypt(more, "ties").view("<u8")[0, 0])
    own = int.from_bytes(streams._own(2, "ties", 0).bytes(8), "little")
    u = (first << 64 | second) << 64 | own
    for p, expected in ((u + 1, True), (u, False)):
        # U continues beyond its 144 known digits, so U < (u + 1) / 2^144 is certain and U < u / 2^144 impossible.
        law = Rational(Fraction(p, 1 << 144))
        assert streams.bernoulli_once(law)[2] == expected
    for known in ((first << 64 | second, 80), (first, 16)):
        assert streams.bernoulli_once(Rational(Fraction(known[0] + 1, 1 << known[1])))[2]
        assert not streams.bernoulli_once(Rational(Fraction(known[0], 1 << known[1])))[2]


def test_sure_and_impossible_draws() -> None:
    streams = UserStreams(KEY, number_users(np.arange(100)), "sure")
    assert _drawn(streams, Rational(Fraction(1)), 9).all()
    assert not _drawn(streams, Rational(Fraction(0)), 9).any()
    nobody = streams.of(slice(0, 0))
    assert nobody.bernoulli_once(Rational(Fraction(1))).shape == (0,)
    assert nobody.uniform_below(3).shape == (0,)
    assert nobody.uint64(2).shape == (0, 2)


@pytest.mark.parametrize("bound", [1, 2, 7, 3 * 2**61, 2**63])
def test_uniform_integers(bound: int) -> None:
    """Without rejection of a quarter of the words the last third of 3 * 2^61 would come up 2 times in 8, not 3 in 9."""
    n = 5000
    drawn = UserStreams(KEY, number_users(np.arange(n)), "uniform", bound).uniform_below(bound)
    assert drawn.min() >= 0
    assert int(drawn.max()) < bound
    cells = min(bound, 8)
    observed = np.bincount((drawn.astype(object) * cells // bound).astype(np.int64), minlength=cells)
    assert cells == 1 or stats.chisquare(observed).pvalue > PASS


def test_names() -> None:
    numbers = np.array([0, 1, -1, 2**40, 2**62])
    names = number_users(numbers)
    assert len({row.tobytes() for row in names}) == len(numbers)
    named = name_users(KEY, [b"ann", b"bob", b"ann"])
    assert (named[0] == named[2]).all()
    assert (named[0] != named[1]).any()
    assert (name_users(bytes(16), [b"ann"]) != named[0]).any()
    assert name_users(KEY, []).shape == (0, 3)
    with pytest.raises(ConfigError, match="length of the key must"):
        name_users(b"short", [b"ann"])
    with pytest.raises(ConfigError, match="users must be named"):
        UserStreams(KEY, names[:, :2])
    with pytest.raises(ConfigError, match="bound must"):
        UserStreams(KEY, names).uniform_below(0)
