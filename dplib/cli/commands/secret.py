"""The commands ``dplib secret``: list the keys of a secret, add a new one, drop an old one; ids only, never keys."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.help_texts import SUMMARIES, example_of
from dplib.config.load import read_setting
from dplib.errors import ConfigError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import RunState
from dplib.ledger.schema import resolve_ledger_url
from dplib.secret.file import drop_old_key, rotate_secret_file
from dplib.secret.places import shown_place
from dplib.secret.secret import KeyRing, load_secret
from dplib.terminal.output import exit_codes, out, table
from dplib.validate import require

secret = typer.Typer(help=SUMMARIES["secret"], epilog=example_of("secret"), no_args_is_help=True, add_completion=False)

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", help="Take secret and ledger from this file.")]
Place = Annotated[str | None, typer.Option("--secret", help="Where the secret is, as in a configuration.")]
LedgerUrl = Annotated[str | None, typer.Option("--ledger", help="Address of the ledger, as in a configuration.")]


@secret.command("show")
def secret_show(config: ConfigFile = None, secret: Place = None, ledger: LedgerUrl = None) -> None:
    """List the ids of the keys, the current one first, and the open reservations that still need each."""
    with exit_codes():
        spec, url, base = _places(config, secret, ledger)
        ring = load_secret(spec, base)
        try:
            waiting: Counter[str] | None = _open_reservations(Ledger.open(url))
        except ConfigError as error:
            waiting = None
            out.print(f"Reservations are not known: {error}.", markup=False)
        _show(ring, waiting)


@secret.command("rotate")
def secret_rotate(config: ConfigFile = None, secret: Place = None) -> None:
    """Put a new random key in front; the old ones stay for reservations that were made under them."""
    with exit_codes():
        spec, _, base = _places(config, secret, None)
        ring = rotate_secret_file(_file_of(spec, base))
        out.print(f"New runs use the key {ring.current.key_id}; back the file up.", markup=False)


@secret.command("drop")
def secret_drop(
    key: Annotated[str, typer.Argument(help="Id of an old key, as `dplib secret show` lists it.", metavar="KEY")],
    config: ConfigFile = None,
    secret: Place = None,
    ledger: LedgerUrl = None,
) -> None:
    """Remove an old key for ever, once no open reservation needs it."""
    with exit_codes():
        spec, url, base = _places(config, secret, ledger)
        needed = _open_reservations(Ledger.open(url))[key]
        rule = "be needed by no open reservation (finish the runs, or dplib ledger void)"
        require(not needed, "KEY", rule, f"{key}, which {needed} of them need")
        _show(drop_old_key(_file_of(spec, base), key), None)


def _places(config: Path | None, secret: str | None, ledger: str | None) -> tuple[str, str, Path]:
    """The secret's place, the ledger's resolved address and the folder of relative paths."""
    base = Path.cwd() if config is None else config.resolve().parent
    spec = secret or _setting(config, "secret", "file:dplib.key")
    return spec, resolve_ledger_url(ledger or _setting(config, "ledger", "sqlite:///ledger.db"), base), base


def _setting(config: Path | None, name: str, default: str) -> str:
    return default if config is None else read_setting(config, name, default)


def _file_of(spec: str, base: Path) -> Path:
    kind, _, place = spec.partition(":")
    rule = "be a file: to be changed here (elsewhere, put a new key before the old ones yourself)"
    require(kind == "file", "secret", rule, shown_place(spec))
    return base / place


def _open_reservations(ledger: Ledger) -> Counter[str]:
    """How many reservations without a measurement each key id has."""
    runs = (run for account in ledger.accounts() for run in ledger.runs(account.dataset))
    return Counter(run.key_id for run in runs if run.state is RunState.RESERVED and run.key_id is not None)


def _show(ring: KeyRing, waiting: Counter[str] | None) -> None:
    rows = [
        [key_id, "old" if number else "current", "" if waiting is None else str(waiting[key_id])]
        for number, key_id in enumerate(ring.key_ids)
    ]
    out.print(table("", ["key", "use", "open reservations"], rows, frozenset({"open reservations"})))
