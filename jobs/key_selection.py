"""``dplib run key-selection`` as a program of its own.

``spark-submit --py-files dist/dplib-*.whl jobs/key_selection.py --config FILE``
"""

from dplib.cli.main import submit

if __name__ == "__main__":
    submit("key-selection")
