"""The quasi-Newton search L-BFGS-B, by scipy's compiled steps alone: ``scipy.optimize`` takes longer to load than it.

References: Byrd, Lu, Nocedal, Zhu, "A limited memory algorithm for bound constrained optimization", SIAM Journal on
Scientific Computing 16(5), 1995.
"""

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

import numpy as np
import scipy

from dplib.arrays import FloatArray

WithGradient = Callable[[FloatArray], tuple[float, FloatArray]]
"""From a point, shape (n,), to the value there and the gradient, shape (n,)."""
_STEPS = "scipy.optimize._lbfgsb"
_TAKES = "setulb(m,x,l,u,nbd,f,g,factr,pgtol,wa,iwa,task,lsave,isave,dsave,maxls,ln_task)"
"""How the compiled steps are called, as they say themselves; another scipy may say otherwise, or have none."""
_MEMORY, _LINE_STEPS, _GRADIENT_TOLERANCE, _MOST = 10, 20, 1e-5, 15_000
"""Those of ``scipy.optimize.minimize``; the last is of values asked for."""
_BOTH_BOUNDS, _NEW_POINT, _ASKS_VALUE = 2, 1, 3


def least(value: WithGradient, start: FloatArray, span: float, tolerance: float) -> tuple[float, FloatArray]:
    """A local minimum within the box of side 2 ``span`` around 0.

    Args:
        value: with its gradient.
        start: inside the box, shape (n,).
        span: bound of each absolute coordinate.
        tolerance: relative gain below which a step is the last.

    Returns:
        The least value found and its point, shape (n,): those of ``scipy.optimize.minimize``, bit by bit.
    """
    steps = _compiled_steps()
    if steps is None:
        bounds, options = [(-span, span)] * len(start), {"ftol": tolerance}
        found = scipy.optimize.minimize(  # type: ignore[call-overload]
            value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return float(found.fun), found.x
    n, m = len(start), _MEMORY
    at, bound = start.astype(np.float64), np.full(n, span)
    least_gains = tolerance / np.finfo(np.float64).eps, _GRADIENT_TOLERANCE
    now, gradient = 0.0, np.zeros(n)
    reals, task = np.zeros(2 * m * n + 5 * n + 11 * m * m + 8 * m), np.zeros(2, np.int32)
    kept = [reals, np.zeros(3 * n, np.int32), task, np.zeros(4, np.int32), np.zeros(44, np.int32), np.zeros(29)]
    kinds, line_task, asked = np.full(n, _BOTH_BOUNDS, np.int32), np.zeros(2, np.int32), 0
    while asked < _MOST:
        steps(m, at, -bound, bound, kinds, now, gradient, *least_gains, *kept, _LINE_STEPS, line_task)
        if task[0] == _ASKS_VALUE:
            now, gradient = value(at.copy())
            asked += 1
        elif task[0] != _NEW_POINT:
            break
    return now, at


@cache
def _compiled_steps() -> Callable[..., None] | None:
    """Scipy's compiled steps, loaded by themselves; None where they are called in another way."""
    spec = PathFinder.find_spec(_STEPS, [f"{folder}/optimize" for folder in scipy.__path__])
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    steps: Callable[..., None] | None = getattr(module, "setulb", None)
    return steps if steps is not None and (steps.__doc__ or "").strip() == _TAKES else None
