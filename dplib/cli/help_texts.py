"""What ``dplib --help`` teaches below the options: examples, exit codes, and the order for someone who is new."""

START = """In this order, the first time:
  1. dplib doctor                         is everything here?
  2. dplib example JOB > my.yaml          settings to edit
  3. dplib init --config my.yaml          secret, ledger and account
  4. dplib plan JOB --config my.yaml      errors and price; reads no row
  5. dplib rehearse JOB --config my.yaml  the job on generated rows
  6. dplib run JOB --config my.yaml       the last line is the release
  7. dplib query RELEASE                  answers with their errors
     dplib report RELEASE                 the page to hand on
     dplib verify RELEASE                 is it whole and paid for?

JOB is one of {jobs}. RELEASE is a folder of numbers with noise that anybody may read.

The ledger is a book: its accounts say how much each data set may still give away, and every release is paid for once. \
Anyone who has the secret can take the noise off.

More: dplib COMMAND --help, and dplib guide. Logs: --log json, or DPLIB_LOG=json.

{exit_codes}
"""
EXIT_CODES = (
    "Exit codes: 0 done, or already released; 2 a setting is wrong; 3 the input cannot be opened or lacks a column; "
    "4 the account cannot pay; 1 anything else, the only one worth another try."
)
SUMMARIES = {
    "init": "Create what is missing: the secret, the ledger and an account (asks, or takes flags).",
    "guide": "Read the guide: how to run, trust and extend the jobs.",
    "example": "Write a commented configuration to start from.",
    "inspect": "For the data's owner only: what each rule and cap does to the rows. Not private; exits 3 if all are "
    "dropped.",
    "plan": "Noise, expected errors, cost and balance, from settings alone: reads no rows, spends nothing.",
    "run": "Measure and publish; a run whose release exists returns it and spends nothing.",
    "rehearse": "The whole job on generated rows of the declared domain: errors to expect; no ledger, no private data.",
    "assign": "For the data's owner only: input rows with their nearest center of a k-means release. Not private.",
    "query": "Answer a range with its standard error and 95 % interval; free.",
    "verify": "Check a release: files, constraints, and with --ledger or --config the books; exits 1 if a check fails.",
    "report": "Print where the page of a release is, or write a copy of it.",
    "doctor": "Java, Spark, packages, secret, ledger, disk: what is wrong and how to fix it; exits 1 if something is "
    "bad.",
    "ledger": "Show, check, correct and move the privacy ledger; approve plans.",
    "stream": "Show what of a stream is measured and final, or close it.",
    "secret": "Show the ids of the secret's keys, rotate it, drop old keys.",
}
"""By command, in the order of the list: what it does."""
EXAMPLES = {
    "init": "dplib init --config my.yaml --budget 10\ndplib init --dataset shop --budget 10 --unit order --yes",
    "example": "dplib example kmeans > my.yaml",
    "inspect": "dplib inspect kmeans --config my.yaml",
    "plan": "dplib plan kmeans --config my.yaml\n"
    "dplib plan kmeans --config my.yaml --set privacy.budget.epsilon=2 --json\n"
    "dplib plan range-histograms --config my.yaml --set tree.queries=prefix\n"
    "dplib plan consistent-histograms -c my.yaml --error 5 --answer month",
    "run": "dplib run kmeans --config my.yaml\ndplib run kmeans --config my.yaml --date 2026-01-31 --log json\n"
    "dplib run kmeans --config my.yaml --dates 2026-01-01..2026-01-31",
    "rehearse": "dplib rehearse range-histograms --config my.yaml --rows 10000",
    "assign": "dplib assign releases/shop-kmeans-undated-000002 --config my.yaml --to rows",
    "query": "dplib query RELEASE --item bread --from 2026-01-01 --to 2026-01-31",
    "verify": "dplib verify RELEASE --ledger sqlite:///ledger.db\n"
    "dplib verify --config my.yaml --date 2026-01-31 --json",
    "report": "dplib report RELEASE --to page.html",
    "doctor": "dplib doctor\ndplib doctor --config my.yaml --json",
    "guide": "dplib guide\ndplib guide proofs",
    "ledger": "dplib ledger show",
    "stream": "dplib stream show --config my.yaml\ndplib stream close --config my.yaml --why 'the year is over'",
    "secret": "dplib secret show --config my.yaml",
}
"""By command: what to type."""
REMARKS = {
    "plan": "What tree, shares, queries and measure mean: dplib guide what-to-measure, and the job's own page.",
    "example": "The next step is to edit the file, then dplib init.",
    "inspect": "A date format that fits no row, a misspelt name, a cap that cuts much: shown before they cost budget.",
    "run": "The last line of the output is the release; with --stage measure its name. Running again gives the same "
    "release and spends nothing.",
    "query": "Asking is free: answers come from the release, not from rows.",
    "ledger": "dplib ledger COMMAND --help tells more.",
    "stream": "dplib stream COMMAND --help tells more; dplib guide streams.",
    "secret": "dplib secret COMMAND --help tells more.",
}
"""By command: a sentence where it helps."""


def start(jobs: list[str]) -> str:
    """What stands below ``dplib --help``."""
    listed = f"{', '.join(jobs[:-1])} and {jobs[-1]}"
    return START.format(jobs=listed, exit_codes=EXIT_CODES).strip()


def example_of(command: str) -> str:
    """What stands below the help of a command: an example and the exit codes."""
    typed = "\n".join(["Example:", *(f"  {line}" for line in EXAMPLES[command].splitlines())])
    return "\n\n".join([typed, *([REMARKS[command]] if command in REMARKS else []), EXIT_CODES])
