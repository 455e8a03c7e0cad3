"""The life of a run and of a release, as every job has it: from settings and ledger to a published directory.

A job brings a design (what its settings decide before a row is read) and three functions (`run.Stages`); everything
else that a run needs stands here, so that jobs differ only where their statistics do.
"""
