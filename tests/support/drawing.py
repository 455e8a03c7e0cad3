"""Values at the edges of settings, drawn by a seed."""

import random
from typing import Any

Settings = dict[str, Any]
NAMES = [
    "bread", "milk", "tea", "a", "0", "-1", "1e5", "null", "true", "NaN", "total", "day",
    "[/x]", "beer [can]", "[bold]loud", "{date}", "{{ 7 * 7 }}", "<b>&amp;</b>", "</svg>", "$x^2$", "a_b^{c}", "%s %d",
    "=1+1", "+3", "@now", "-x", "it's", 'a "word"', "a,b;c", "a\\b", "a/b", "..", "Größe", "日本語", "🍞🥛", "ffi", "İ",
    "e\u0301", "\u200d", "\u202eevil", "a\u00a0b", "x" * 300, "ß" * 90, ":smile:", "#", "a|b", "`code`", "\\u0041",
]  # fmt: skip
ODD_NAMES = ["", " a", "a\tb", "a\nb", "a\x1b[31mb", "\x00", "a\x7f", "\ud800", "\ufeffx", "a\u2028b", "\x85"]
"""Names that a release cannot or should not have."""
DAYS = ["0001-01-01", "0001-01-31", "0004-02-29", "1582-10-15", "1900-02-28", "1970-01-01", "2024-02-29"]
DAYS += ["2024-12-31", "9999-01-01", "9999-12-01", "9999-12-31"]
EPSILONS = ["1e-30", "1e-9", "1e-6", "0.001", "0.1", "1/3", 1, 2, 5, 14, 30, 100, 700, 800, 1e6, "1e300", 0, -1]
DELTAS = ["1e-300", "1e-30", "1e-9", "1e-6", "1e-3", 0.1, 0.5, "0.999999", 1]
NUMBERS = ["1e300", "-1e300", "1e-300", "1e17", "123456789.123456789", "1/3", 0, 1, -1, 2, 0.1, 1e9, "5e-324", "1e308"]


class Draw:
    """Draws with a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *choices: Any) -> Any:
        """One of the choices."""
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return self.random.random() < probability

    def names(self, least: int, most: int) -> list[str]:
        """Different names, rarely an odd one among them."""
        n = self.random.randint(least, most)
        found = self.random.sample(NAMES, min(n, len(NAMES))) + [f"n{i}" for i in range(n - len(NAMES))]
        if found and self.chance(0.03):
            found[self.random.randrange(len(found))] = self.one(*ODD_NAMES)
        return found

    def number(self) -> Any:
        """A number, mostly a usual one."""
        return self.one(*NUMBERS) if self.chance(0.3) else self.one(0, 1, 2, 5, 10, 0.5, 100)

    def share(self) -> Any:
        """A share of something."""
        return self.one(1, 2, 1, 3, "1/3", "1e-6", 1000, 0) if self.chance(0.5) else 1

    def days(self, most: int) -> tuple[str, str]:
        """First and last day, mostly a few apart."""
        import datetime as dt

        first = dt.date.fromisoformat(self.one(*DAYS))
        length = self.one(1, 2, 7, 31, 60, most) if self.chance(0.9) else self.random.randint(1, most)
        last = min(first.toordinal() + length - 1, dt.date.max.toordinal())
        return first.isoformat(), dt.date.fromordinal(last).isoformat()

    def budget(self) -> Settings:
        """A budget in one of the three forms."""
        epsilon = self.one(*EPSILONS) if self.chance(0.5) else self.one(0.5, 1, 2)
        form = self.random.random()
        if form < 0.45:
            return {"epsilon": epsilon}
        if form < 0.7:
            return {"rho": epsilon}
        return {"epsilon": epsilon, "delta": self.one(*DELTAS) if self.chance(0.5) else "1e-6"}

    def maybe(self, settings: Settings, name: str, probability: float, *choices: Any) -> None:
        """Give a setting, or leave it out."""
        if self.chance(probability):
            settings[name] = self.one(*choices)
