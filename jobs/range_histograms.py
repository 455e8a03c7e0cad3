"""Submit ``range-histograms`` to Spark; the options are those of ``dplib run range-histograms``.

``spark-submit --py-files dist/dplib-*.whl jobs/range_histograms.py --config FILE``
"""

from dplib.jobs.range_histograms.config import NAME
from dplib.jobs.range_histograms.job import run
from dplib.jobs.range_histograms.run import prepare
from dplib.terminal.output import submit

if __name__ == "__main__":
    submit(NAME, prepare, run)
