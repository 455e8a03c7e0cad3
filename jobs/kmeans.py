"""``dplib run kmeans`` as a program of its own.

``spark-submit --py-files dist/dplib-*.whl jobs/kmeans.py --config FILE``
"""

from dplib.cli.main import submit

if __name__ == "__main__":
    submit("kmeans")
