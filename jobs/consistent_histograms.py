"""Submit ``consistent-histograms`` to Spark; the options are those of ``dplib run consistent-histograms``.

``spark-submit --py-files dist/dplib-*.whl jobs/consistent_histograms.py --config FILE``
"""

from dplib.jobs.consistent_histograms.config import NAME
from dplib.jobs.consistent_histograms.job import run
from dplib.jobs.consistent_histograms.run import prepare
from dplib.terminal.output import submit

if __name__ == "__main__":
    submit(NAME, prepare, run)
