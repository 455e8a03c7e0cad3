"""Acceptance of the local model of k-means: oracles, many coordinates, audits, errors, reports of devices, Spark."""

from collections.abc import Iterator

from scripts.accept.claims import Check, Result, tests_pass

ACCURACY = "tests/statistical/test_local_accuracy.py"


def local_oracles() -> Iterator[Result]:
    """Every oracle and the protocol in rounds at full size; more coordinates."""
    claim = "local model, d=2, k=8, n=1e6, epsilon 1: loss at most 1.15 with every oracle, and in four rounds"
    yield from tests_pass(claim, ACCURACY, "-k", "plane")
    claim = "ldp_tree above 6 coordinates, n=1e6: the loss that the plan states (d=20 at epsilon 1 and 4, d=7 at 2)"
    yield from tests_pass(claim, ACCURACY, "-k", "many_dimensions")
    claim = "frequency oracles: exact laws, exact epsilon, no bias, the stated variance, merging"
    yield from tests_pass(claim, "tests/statistical/test_frequency_oracles.py")
    claim = "sums of vectors from one bit of each user: exact epsilon, no bias, the stated error"
    yield from tests_pass(claim, "tests/statistical/test_vector_sums.py")


def local_audits() -> Iterator[Result]:
    """Whole transcripts of one user on the worst pair of inputs, and planted faults."""
    trees, rounds = "tests/unit/test_local_tree.py", "tests/unit/test_local_rounds.py"
    claim = "ldp_tree: e^epsilon reached and not exceeded, every oracle, every level; half the noise caught"
    yield from tests_pass(claim, trees, "-k", "every_oracle_and_level")
    claim = "the same coins at two levels, and two answers of one user, caught"
    yield from tests_pass(claim, trees, "-k", "caught")
    claim = "ldp_hash_rounds, projected tree: all that a user ever sends is epsilon-private; planted epsilon caught"
    yield from tests_pass(claim, rounds, "tests/unit/test_local_lift.py", "-k", "rounds_together")
    claim = "noisy coordinates: the law of the noise, the diameter of the space, half the noise caught"
    yield from tests_pass(claim, rounds, "-k", "noise_of_a_user or opposite_points or diameter")
    claim = (
        "Spark: one report a user, the same in every partitioning, order and recomputation; coins without key caught"
    )
    yield from tests_pass(claim, "tests/spark/test_user_reports.py")


def local_errors() -> Iterator[Result]:
    """Standard errors of weights."""
    claim = "weights of quadtree, ldp_tree, projected tree and hash rounds: errors cover the true counts"
    yield from tests_pass(claim, "tests/statistical/test_weight_errors.py")


def device_reports() -> Iterator[Result]:
    """Reports of devices as texts."""
    claim = "texts of every oracle and of noisy coordinates; wrong and foreign ones are none; made without Spark"
    yield from tests_pass(claim, "tests/unit/test_kmeans_local.py", "-k", "text or device or collection")
    claim = "reports of devices become a release; methods with rounds refuse them by name"
    yield from tests_pass(
        claim,
        "tests/jobs/test_kmeans.py",
        "tests/jobs/test_kmeans_refusals.py",
        "-k",
        "devices or input.columns.report",
    )
    yield from tests_pass("the guide's page about device reports runs", "tests/docs/test_device_page.py")


CHECKS: tuple[Check, ...] = (local_oracles, local_audits, local_errors, device_reports)
