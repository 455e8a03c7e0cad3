"""The page of one release of k-means: one self-contained HTML file.

Post-processing: everything comes from the stored measurement, from what was computed from it, and from public settings.
Sections, in this order: what was released; the guarantee; expected noise; the centers; how they were made; the budget;
how to query and cite.
"""

from collections import Counter
from fractions import Fraction

import numpy as np

from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import Results
from dplib.jobs.kmeans.methods import errors_text, method_text, reason_text, weights_text
from dplib.jobs.kmeans.plan import make_plan, noise_limit_text, plan_notes, relative_noise_text, space_text
from dplib.page.blocks import (
    Block,
    Callout,
    DataTable,
    Figure,
    KeyValues,
    Paragraphs,
    Section,
    heads,
    set_back,
)
from dplib.page.centers_figure import CenterMap, centers_over_cells
from dplib.page.frame import PageFrame, Released, notes_from_plan, tables_of_release
from dplib.page.guarantee import NoiseRow, NoiseTable
from dplib.page.number_text import count_text, counted, number_text, with_margin
from dplib.privacy.events import Event
from dplib.privacy.noise import NoiseEvent

MAX_CENTERS, MAX_COORDINATES = 200, 4
"""Centers and coordinates in the page's table; the release's tables have all."""
_SCROLLING = 25
_REFERENCES = {
    "grid": "Su, Cao, Li, Bertino, Jin, Differentially private k-means clustering, CODASPY 2016.",
    "quadtree": "Cormode, Procopiuc, Srivastava, Shen, Yu, Differentially private spatial decompositions, ICDE 2012.",
    "tree_coreset": "Ghazi, Kumar, Manurangsi, Differentially private clustering: tight approximation ratios, NeurIPS "
    "2020; Chang, Ghazi, Kumar, Manurangsi, Locally private k-means in one round, ICML 2021.",
    "lloyd": "Blum, Dwork, McSherry, Nissim, Practical privacy: the SuLQ framework, PODS 2005; Su, Cao, Li, Bertino, "
    "Jin, Differentially private k-means clustering, CODASPY 2016.",
    "local_search": "Balcan, Dick, Liang, Mou, Zhang, Differentially private clustering in high-dimensional Euclidean "
    "spaces, ICML 2017.",
    "kvariates": "Nock, Canyasse, Boreli, Nielsen, k-variates++: more pluses in the k-means++, ICML 2016.",
    "max_cover": "Nguyen, Chaturvedi, Xu, Differentially private k-means via exponential mechanism and max cover, AAAI "
    "2021.",
    "sample_aggregate": "Nissim, Raskhodnikova, Smith, Smooth sensitivity and sampling in private data analysis, STOC "
    "2007.",
    "ldp_tree": "Chang, Ghazi, Kumar, Manurangsi, Locally private k-means in one round, ICML 2021.",
    "ldp_hash_rounds": "Stemmer, Locally private k-means clustering, JMLR 22, 2021.",
    "noisy_coordinates": "Duchi, Jordan, Wainwright, Minimax optimal procedures for locally private estimation, JASA "
    "113, 2018.",
    "privgene": "Zhang, Xiao, Yang, Zhang, Winslett, PrivGene: differentially private model fitting using genetic "
    "algorithms, SIGMOD 2013.",
}


def build_page(design: Design, results: Results, frame: PageFrame) -> str:
    """Return the page as HTML text; the same content gives the same bytes."""
    return frame.page(
        "Clusters",
        "k-means",
        _released(design, frame),
        _noise(design, results),
        (_centers(design, results), _expected(design), _how_made(design, results)),
        _use(design, results, frame),
    )


def _released(design: Design, frame: PageFrame) -> Released:
    serves = (
        "The centers say where many rows lie and the weights about how many; neither says to which cluster a given "
        f"{frame.guarantee.unit} belongs. The number of centers was chosen beforehand: that a center is there does not "
        "mean that there is a cluster. Rows without a readable point, and rows beyond the public caps, were not "
        "counted."
    )
    return frame.released(
        f"{counted(design.problem.n_clusters, 'center')} of clusters in "
        f"{counted(len(design.coordinates), 'coordinate')}, with weights",
        serves,
        ("Points", f"in {space_text(design)}"),
        tables_of_release(
            "The centers, coordinate by coordinate, and their weights, with standard errors where these "
            "are known. For analysis.",
            "Not made by this job: weights are no table of counts.",
            "The noisy numbers as they were drawn, with their variances, and what was chosen. For making other centers "
            "at no further cost.",
        ),
    )


def _noise(design: Design, results: Results) -> NoiseTable:
    events = Counter(results.clustering.events).items()
    caption = "The noise of every question; sums are in 65,536ths of the space's radius"
    return NoiseTable(caption, "Question", "Times", tuple(_noise_row(design, *each) for each in events))


def _noise_row(design: Design, event: Event, times: int) -> NoiseRow:
    noise = event.noise if isinstance(event, NoiseEvent) else None
    spent = event.rho if design.gaussian else event.epsilon
    share = Fraction(0) if spent is None else times * spent / design.budget
    mechanism = event.to_dict()["mechanism"]
    return NoiseRow.of(event.statistic, times, noise, share.limit_denominator(10**6), mechanism)


def _expected(design: Design) -> Section:
    words = f"This is {relative_noise_text(design)}. It follows from the settings and was known before a row was read. "
    words += noise_limit_text(design)
    rows = tuple(
        (count_text(each.n_points), each.method, each.detail or "–", number_text(each.relative_noise, 2))
        for each in make_plan(design, "").expected_accuracy
    )
    columns = heads("Points", "Method", "Sizes", numbers=("Noise",))
    return Section("Expected noise", (Paragraphs((words,)), DataTable("By the number of points", columns, rows)))


def _centers(design: Design, results: Results) -> Section:
    k = len(results.weights)
    unknown = int(np.isinf(results.std_errors).any(axis=1).sum())
    blocks: list[Block] = [_figure(design, results), _table(design, results)]
    if unknown:
        said = (
            f"{count_text(unknown)} of {count_text(k)} centers have no standard error: no noisy count told that points "
            "are near them, so they stand where the public start put them."
        )
        blocks.insert(0, Callout("Centers without an error", said, tone="warning"))
    if not np.isfinite(results.weight_errors).all():
        blocks.append(Callout("Weights without an error", weights_text(results.clustering.method), tone="note"))
    swallowed = int(results.swallowed.sum())
    if swallowed:
        said = (
            f"The weights of {count_text(swallowed)} of {count_text(k)} centers are no larger than their errors: noise "
            "alone may have made these centers. They are marked (noise?)."
        )
        blocks.insert(0, Callout("Centers that may be noise", said, tone="warning"))
    blocks.append(Paragraphs((errors_text(results.clustering), _loss_text(design, results))))
    return Section("Centers", tuple(blocks))


def _loss_text(design: Design, results: Results) -> str:
    what = "sum of squared distances to the nearest center"
    if results.loss is None or results.loss_error is None:
        return f"No {what} is estimated: the noisy numbers do not tell it, or not to half of it."
    scaled = " in scaled coordinates" if design.config.clustering.scale == "bounds" else ""
    shown, margin = with_margin(results.loss, results.factor * results.loss_error)
    return f"Estimated {what}: {shown} \u00b1 {margin}{scaled}, from noisy numbers alone."


def _figure(design: Design, results: Results) -> Figure:
    x, y = design.picture
    frame, clustering, axes = results.frame, results.clustering, [x, y]
    half = np.array(frame.space.half_widths, dtype=np.float64)
    cells = np.empty((0, len(half))) if clustering.cells is None else clustering.cells
    weights = np.empty(0) if clustering.cell_weights is None else clustering.cell_weights
    low, high = (frame.to_data(sign * half[np.newaxis])[0, axes] for sign in (-1, 1))
    places = [results.centers[:, axes].copy(), frame.to_data(cells)[:, axes].copy()]
    names = (design.coordinates[x], "" if x == y else design.coordinates[y])
    if x == y:
        low[1], high[1] = -1.0, 1.0
        for place in places:
            place[:, 1] = 0.0
    shown = CenterMap(names, low, high, places[0], results.factor * results.std_errors[:, axes], places[1], weights)
    of = f"{names[0]} and {names[1]}" if names[1] else names[0]
    caption = (
        "The cells are those that the method counted with noise, so faint ones may hold nobody. "
        if len(cells)
        else "This method counts no cells. "
    )
    caption += "Bars are 95 % intervals; a dot hides what is shorter. Hollow centers have no known error."
    heavy = int(np.argmax(np.nan_to_num(results.weights)))
    spot = ", ".join(number_text(float(value)) for value in results.centers[heavy, sorted({x, y})])
    alt = f"Map of {count_text(len(results.weights))} centers by {of}; the heaviest is center {heavy} at {spot}."
    return Figure(centers_over_cells(shown), f"Centers by {of}", caption, alt)


def _table(design: Design, results: Results) -> DataTable:
    order = np.argsort(-results.weights, kind="stable")[:MAX_CENTERS]
    shown = range(min(len(design.coordinates), MAX_COORDINATES))
    rows = []
    for center in order:
        weight = float(results.weights[center])
        error = float(results.weight_errors[center])
        value, margin = ("–" if np.isnan(weight) else number_text(weight)), "–"
        if not np.isnan(error):
            value, margin = with_margin(weight, results.factor * error)
        errors = results.factor * results.std_errors[center]
        cells = [_cell(results.centers[center, axis], errors[axis]) for axis in shown]
        mark = " (noise?)" if results.swallowed[center] else ""
        rows.append(set_back((f"{center}{mark}", value, margin, *cells), bool(results.swallowed[center])))
    columns = heads("Center", numbers=("Weight", "± 95 %", *(design.coordinates[axis] for axis in shown)))
    caption = f"Centers with their weights, the heaviest first; ± is {results.factor:.2f} standard errors"
    caption += "; grey where noise alone may have made them"
    if len(order) < len(results.weights):
        caption += f"; the first {count_text(len(order))} of {count_text(len(results.weights))}"
    if len(shown) < len(design.coordinates):
        caption += f"; the first {len(shown)} of {count_text(len(design.coordinates))} coordinates"
    return DataTable(caption, columns, tuple(rows), tall=len(rows) > _SCROLLING)


def _cell(value: float, half: float) -> str:
    if not np.isfinite(half):
        return number_text(float(value))
    shown, margin = with_margin(float(value), float(half))
    return f"{shown} ± {margin}"


def _how_made(design: Design, results: Results) -> Section:
    clustering = results.clustering
    text = (
        f"{reason_text(design)} Taken was {clustering.method}: {method_text(clustering.method)}. Every question about "
        "the points got noise of its own; what came after it, here and in the page, uses noisy numbers only."
    )
    choices = [(name.capitalize(), str(value)) for name, value in clustering.choices.items()]
    values = KeyValues((("Method", clustering.method), ("Space", space_text(design)), *choices))
    return Section("How the centers were made", (Paragraphs((text,)), values, *notes_from_plan(plan_notes(design))))


def _use(design: Design, results: Results, frame: PageFrame) -> Section:
    point = ",".join(f"{float(value):.4g}" for value in results.centers[0])
    return frame.use(
        f"{counted(design.problem.n_clusters, 'center')} of clusters",
        (f"--from={point}", "The nearest center of a point, with its weight and standard errors (--item 3: center 3)"),
        (_REFERENCES[results.clustering.method],),
    )
