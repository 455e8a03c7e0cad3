"""Jobs whose input, lists and releases are named by ``file://`` URLs, or lie where no release can be put."""

from pathlib import Path

from tests.support.jobs import ITEMS, Outcome, new_shop, require_refused, visible


def assert_not_opened(outcome: Outcome, path: str) -> None:
    last = outcome.err.splitlines()[-1]
    assert last.startswith("dplib: input.path must name ")
    assert f"got {path}" in last
    assert "Traceback" not in outcome.err


def test_file_urls_name_input_lists_and_releases(spark: object, tmp_path: Path) -> None:
    shop = new_shop(tmp_path / "a b")
    (shop.folder / "items.txt").write_text("\n".join(ITEMS), encoding="utf-8")
    here = f"file://{shop.folder}"
    shop.set(
        input__path=f"{here}/orders.csv",
        domain__items={"file": f"{here}/items.txt"},
        publish__output__path=f"{here}/elsewhere",
    )
    release = shop.run().release
    assert release.parent == shop.folder / "elsewhere"
    assert visible(release.parent) == [release.name]
    assert shop.spent() == 1
    # Spark opens what has the scheme of another system itself; this one has no such file.
    shop.set(input__path="file:///none/orders.csv", privacy__budget={"epsilon": 2})
    assert_not_opened(require_refused(shop, 3), "file:///none/orders.csv")


def test_input_of_a_system_that_spark_lacks_is_one_sentence(spark: object, tmp_path: Path) -> None:
    shop = new_shop(tmp_path / "shop").set(input__path="s3a://bucket/orders.csv")
    assert_not_opened(require_refused(shop, 3), "s3a://bucket/orders.csv")
