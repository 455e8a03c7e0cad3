"""Submit ``minimum-cuts`` to Spark; the options are those of ``dplib run minimum-cuts``.

``spark-submit --py-files dist/dplib-*.whl jobs/minimum_cuts.py --config FILE``
"""

from dplib.jobs.minimum_cuts.config import NAME
from dplib.jobs.minimum_cuts.job import run
from dplib.jobs.minimum_cuts.run import prepare
from dplib.terminal.output import submit

if __name__ == "__main__":
    submit(NAME, prepare, run)
