"""Submit ``kmeans`` to Spark; the options are those of ``dplib run kmeans``.

``spark-submit --py-files dist/dplib-*.whl jobs/kmeans.py --config FILE``
"""

from dplib.jobs.kmeans.config import NAME
from dplib.jobs.kmeans.job import run
from dplib.jobs.kmeans.run import prepare
from dplib.terminal.output import submit

if __name__ == "__main__":
    submit(NAME, prepare, run)
