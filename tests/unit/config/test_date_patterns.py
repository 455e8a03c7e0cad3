"""Patterns of dates are guessed from texts; day and month that could be either are both named."""

import pytest

from dplib.config.date_patterns import PATTERNS, guess_patterns, reads


@pytest.mark.parametrize(
    ("texts", "patterns"),
    [
        (["2024-03-01", "2024-12-31"], ["yyyy-MM-dd"]),
        (["03/08/2019 20:25", "31/07/2019 09:05"], ["dd/MM/yyyy HH:mm"]),
        (["03/08/2019", "01/02/2019"], ["dd/MM/yyyy", "MM/dd/yyyy"]),
        (["1/2/2019", "12/31/2019"], ["M/d/yyyy"]),
        (["20240131"], ["yyyyMMdd"]),
        (["2024-01-31T10:00:00Z"], ["yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-MM-dd'T'HH:mm:ss'Z'"]),
        (["Jan 5, 2024 3:07 PM"], ["MMM d, yyyy h:mm a"]),
        (["yesterday", "", "31/02/2024"], []),
    ],
)
def test_the_pattern_that_reads_most_is_guessed(texts: list[str], patterns: list[str]) -> None:
    assert [guess.pattern for guess in guess_patterns([(text, 2) for text in texts])] == patterns


def test_rows_count_and_a_wrong_day_is_not_read() -> None:
    (guess,) = guess_patterns([("2024-01-31", 5), ("2024-02-30", 7), ("x", 100)])
    assert (guess.pattern, guess.rows) == ("yyyy-MM-dd", 5)
    assert not reads("dd/MM/yyyy", "1/02/2024")
    assert not reads("yyyy-MM-dd", "2024-01-31 10:00")


def test_every_pattern_of_the_list_can_be_used() -> None:
    assert len(set(PATTERNS)) == 322
    assert not any(reads(pattern, "?") for pattern in PATTERNS)
