"""k-means by scikit-learn (no privacy) or diffprivlib, in the unit ball: ``clusters.py POINTS PEER K EPSILON``."""

import json
import sys
import time
from pathlib import Path

import numpy as np


def main() -> None:
    path, peer, k, epsilon = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    points = np.load(Path(path))["points"]
    bounds = (-np.ones(points.shape[1]), np.ones(points.shape[1]))
    if peer == "diffprivlib":
        from diffprivlib.models import KMeans

        models = [KMeans(n_clusters=k, epsilon=epsilon, bounds=bounds, random_state=seed) for seed in range(5)]
    else:
        from sklearn.cluster import KMeans

        models = [KMeans(n_clusters=k, n_init=10, random_state=0)]
    for model in models:
        started = time.process_time()
        model.fit(points)
        taken = time.process_time() - started
        centers = model.cluster_centers_
        nearest = min_squares(points, centers)
        print(json.dumps({"seconds": taken, "loss": nearest}), flush=True)


def min_squares(points: np.ndarray, centers: np.ndarray) -> float:
    """Sum of squared distances to the nearest center."""
    return float(sum(((points[at : at + 10_000, None] - centers) ** 2).sum(2).min(1).sum()
                     for at in range(0, len(points), 10_000)))  # fmt: skip


if __name__ == "__main__":
    main()
