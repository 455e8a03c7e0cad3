"""``dplib run minimum-cuts`` as a program of its own.

``spark-submit --py-files dist/dplib-*.whl jobs/minimum_cuts.py --config FILE``
"""

from dplib.cli.main import submit

if __name__ == "__main__":
    submit("minimum-cuts")
