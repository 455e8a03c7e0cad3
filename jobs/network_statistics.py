"""``dplib run network-statistics`` as a program of its own.

``spark-submit --py-files dist/dplib-*.whl jobs/network_statistics.py --config FILE``
"""

from dplib.cli.main import submit

if __name__ == "__main__":
    submit("network-statistics")
