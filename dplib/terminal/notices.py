"""What is said of a release where it was made or asked."""

from pathlib import Path
from typing import Any

from dplib.page.notices import faint_warning
from dplib.release.manifest import Manifest, load_manifest
from dplib.terminal.output import out, show
from dplib.terminal.progress import log
from dplib.workflow.design import AnyDesign
from dplib.workflow.job import Job
from dplib.workflow.quality import QUALITY


def tried(job: Job[AnyDesign], release: Path) -> None:
    """Print a release to nobody."""
    with out.capture():
        show(job.show(release, load_manifest(release)))


def warn_of(manifest: Manifest) -> None:
    """Say on standard error what must not be missed about a release."""
    warning = faint_warning(manifest.details)
    if warning:
        log.warning(warning)


def show_quality(manifest: Manifest) -> None:
    """Say how much of the input was counted, where the release knows it."""
    quality: Any = manifest.details.get(QUALITY)
    for sentence in quality["sentences"] if quality else ():
        out.print(sentence, markup=False)
