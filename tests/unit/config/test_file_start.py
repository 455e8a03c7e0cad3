"""An example for a file takes names and formats from its start, and nothing else of it."""

from pathlib import Path

import pytest

from dplib.config.file_start import example_for
from dplib.config.yaml_text import parse_yaml
from dplib.errors import ConfigError
from dplib.jobs.table import JOBS, job_named

ORDERS = "OrderDate;ItemName;Quantity;Order Number\n03/08/2019 20:25;Naan é;1;77123\n31/07/2019 09:05;Tea;2;77124\n"


@pytest.mark.parametrize(
    ("encoding", "named"), [("utf-8-sig", None), ("iso-8859-1", "ISO-8859-1"), ("cp1252", "windows-1252")]
)
def test_names_and_formats_are_filled_in_and_no_value_is_shown(
    encoding: str, named: str | None, tmp_path: Path
) -> None:
    (tmp_path / "orders.csv").write_bytes(ORDERS.replace("é", "é€" if encoding == "cp1252" else "é").encode(encoding))
    text = example_for(job_named("consistent-histograms").example, tmp_path / "orders.csv")
    source = parse_yaml(text, "--config")["input"]
    assert source["columns"] == {"day": "OrderDate", "item": "ItemName", "quantity": "Quantity", "unit": "Order Number"}
    assert source["date_format"] == "dd/MM/yyyy HH:mm"
    assert (source["options"]["sep"], source["options"].get("encoding")) == (";", named)
    assert source["path"] == str(tmp_path / "orders.csv")
    assert not any(value in text for value in ("Naan", "Tea", "77123", "2019"))


@pytest.mark.parametrize("job", JOBS)
def test_every_job_has_an_example_for_a_file(job: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\nx,y\n")
    found = parse_yaml(example_for(job_named(job).example, tmp_path / "rows.csv"), "--config")
    assert found["job"] == job
    assert "CHOOSE" in found["input"]["columns"].values()


@pytest.mark.parametrize("start", ["", "Naan,2,2024-01-01\nTea,3,2024-01-02\n", "a,a\n1,2\n", "a,,b\n"])
def test_a_file_whose_first_line_is_no_header_is_refused_and_not_shown(start: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(start)
    with pytest.raises(ConfigError, match="--from must begin with a line that names its columns") as refused:
        example_for(job_named("kmeans").example, tmp_path / "rows.csv")
    assert "Naan" not in str(refused.value)
