"""The errors a user can meet, each with the exit code of the command that ends with it.

Messages are one sentence in the form ``<name> must <rule>, got <value>`` and carry settings and public keys
only: never a value, a count or the position of an input row. Errors about a setting or a solver hold the three parts:
who called a kernel with a setting says the sentence again, of the setting's name in the file.

| code | class | meaning |
|---|---|---|
| 0 | - | done, or already released |
| 1 | `DplibError` and everything unexpected | anything else; the only code worth a retry |
| 2 | `ConfigError` | a setting is wrong |
| 3 | `SchemaError` | the input cannot be opened or lacks a column |
| 4 | `BudgetError` | the account cannot pay, or the plan is not approved |
"""


class DplibError(Exception):
    """Base of all errors raised on purpose; exit code 1."""

    exit_code = 1


class RuleError(DplibError):
    """Something breaks a rule; exit code 1.

    Attributes:
        name: what breaks it.
        rule: the words after must.
        got: what there is instead, as it is shown; empty where nothing is.
    """

    def __init__(self, name: str, rule: str, got: object = "") -> None:
        self.name, self.rule, self.got = name, rule, f"{got}"
        super().__init__(name, rule, self.got)

    def __str__(self) -> str:
        return f"{self.name} must {self.rule}" + (f", got {self.got}" if self.got else "")


class ConfigError(RuleError):
    """A setting, or a file that a setting names, is wrong; exit code 2."""

    exit_code = 2

    def __init__(self, name: str, rule: str, got: object) -> None:
        super().__init__(name, rule, got)

    def __str__(self) -> str:
        return f"{self.name} must {self.rule}, got {self.got}"

    def of(self, name: str) -> "ConfigError":
        """The same said of another name."""
        return ConfigError(name, self.rule, self.got)


class SchemaError(DplibError):
    """The input cannot be opened or lacks a column; exit code 3."""

    exit_code = 3


class BudgetError(DplibError):
    """The ledger's account cannot pay for the release, or its plan is not approved; exit code 4."""

    exit_code = 4


class IntegrityError(DplibError):
    """A stored measurement, release or ledger is not what was written; exit code 1."""


class SolverError(RuleError):
    """A solver cannot take the problem it was given, or did not converge; exit code 1."""
