"""Machine code that first runs would wait for, compiled beforehand: by set-up and by ``dplib doctor --compile``.

Whatever a job calls it calls with arrays of the same kinds, however large they are. So each job's example is planned
and its publication tried, in small, and cuts of a graph with edges are looked for in each way.
"""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.karger import contraction_cuts
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import canonical
from dplib.jobs.table import JOBS, job_named
from dplib.page.account_state import AccountState
from dplib.workflow.design import cost_of, natural_terms
from dplib.workflow.dry_publication import try_publication, unseen

N_VERTICES = 40
"""Of the graph: more than those whose cuts are all listed."""


def compile_kernels() -> None:
    """Compile and keep (`dplib.kept_code`) what runs of the jobs' examples call."""
    with TemporaryDirectory(prefix="dplib-kernels-") as name:
        for job in JOBS:
            path = Path(name, f"{job}.yaml")
            path.write_text(job_named(job).example, encoding="utf-8")
            prepared = job_named(job).prepare(path)
            prepared.job.plan(prepared.design, prepared.key.settings_hash)
            terms = natural_terms(prepared.design)
            cost = cost_of(prepared.design, terms.currency)
            account = AccountState(terms.currency, cost, Fraction(0), cost)
            try_publication(prepared, unseen, account, page=False)
    _find_cuts()


def _find_cuts() -> None:
    around = np.arange(N_VERTICES)
    source, target = np.tile(around, 2), np.concatenate([around + 1, around + 7]) % N_VERTICES
    graph = canonical(N_VERTICES, source, target, np.full(len(source), 2))
    value = minimum_cut(graph).value
    near_minimum_cuts(graph, value + 1)
    contraction_cuts(graph, value, n_left=6, seed=0, first_trial=0, n_trials=1)
    cactus_of_graph(graph, value)


if __name__ == "__main__":
    compile_kernels()
