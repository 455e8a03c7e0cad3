"""Acceptance of minimum cuts.

The claims are spread over three modules of one shape: each has ``CHECKS: tuple[Check, ...]``, functions without
arguments that yield `scripts.accept.claims.Result`, one a claim (`at_most`, `at_least`, `tests_pass`, or
``Result(claim, target, measured, ok)``; ``ok`` None where the machine lacks what the check needs, such as the folder
that DPLIB_SHARED names). The name of each function says what it checks, as `make accept` can pick checks by it.

* this module: exact cuts, structure and sensitivity against oracles, speed, trials on Spark, real graphs;
* `scripts.accept.minimum_cuts_job`: the job's releases, refusals and error cases;
* `scripts.accept.minimum_cuts_audit`: hockey-stick divergences over all small neighbours, broken variants.
"""

from scripts.accept.claims import Check

CHECKS: tuple[Check, ...] = ()
