"""What becomes of a drawn configuration: refused with a sentence, or planned and published; nothing in between."""

import json
import re
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dplib.errors import ConfigError
from dplib.jobs.table import job_named
from dplib.page.account_state import AccountState
from dplib.terminal.notices import tried
from dplib.terminal.output import json_text, out, show
from dplib.workflow.design import cost_of, natural_terms
from dplib.workflow.dry_publication import try_publication
from tests.support.configurations import configuration

SENTENCE = re.compile(r".+ must .+, got .+", re.DOTALL)
UNPUBLISHABLE = "the settings must give a release that can be published"


def outcome(number: int, folder: Path) -> tuple[str, str]:
    """Take a drawn configuration through plan and publication, without rows, ledger or Spark.

    Args:
        number: of the configuration.
        folder: an empty one, for its file.

    Returns:
        ``refused``, ``published``, or ``lost``, which no configuration may be; and what was said.
    """
    return outcome_of(configuration(number), folder)


def outcome_of(settings: dict[str, Any], folder: Path) -> tuple[str, str]:
    """See `outcome`."""
    path = folder / "drawn.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    try:
        prepared = job_named(settings["job"]).prepare(path)
        terms = natural_terms(prepared.design)
        cost = cost_of(prepared.design, terms.currency)
        made, shown = prepared.job.plan(prepared.design, prepared.key.settings_hash)
        json_text(made.to_dict())
        with out.capture():
            show(shown)
        # With the page, as a run tries it.
        try_publication(prepared, partial(tried, prepared.job), AccountState(terms.currency, cost, Fraction(0), cost))
    except ConfigError as error:
        said = str(error)
        fair = SENTENCE.fullmatch(said) and UNPUBLISHABLE not in said
        return ("refused" if fair else "lost"), said
    except Exception as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = "" if frame is None else f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"
        return "lost", f"{type(error).__name__} at {place}: {error}"
    assert cost > Fraction(0)
    return "published", ""
