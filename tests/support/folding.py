"""Ways to fold names, and letters that are odd to fold."""

from dplib.config.fold import Fold

FOLDS: tuple[list[Fold], ...] = (["case"], ["spaces"], ["case", "spaces"])
ODD = "ßẞſtİıΣςσ\u0345\u1fb3\u1e9b\u0323Åﬁǆ \xa0\u2003\u3000\ufeff\x1c\x1f\x85\t\u200b가\u1100\u1161𐐀🍵"
