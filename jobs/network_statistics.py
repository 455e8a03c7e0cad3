"""Submit ``network-statistics`` to Spark; the options are those of ``dplib run network-statistics``.

``spark-submit --py-files dist/dplib-*.whl jobs/network_statistics.py --config FILE``
"""

from dplib.jobs.network_statistics.config import NAME
from dplib.jobs.network_statistics.job import run
from dplib.jobs.network_statistics.run import prepare
from dplib.terminal.output import submit

if __name__ == "__main__":
    submit(NAME, prepare, run)
