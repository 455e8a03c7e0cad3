"""``dplib run range-histograms`` as a program of its own.

``spark-submit --py-files dist/dplib-*.whl jobs/range_histograms.py --config FILE``
"""

from dplib.cli.main import submit

if __name__ == "__main__":
    submit("range-histograms")
