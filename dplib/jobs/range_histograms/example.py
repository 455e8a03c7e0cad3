"""The commented configuration that ``dplib example range-histograms`` writes."""

EXAMPLE = """\
# Configuration of the job range-histograms: one histogram or one for each group, on trees that answer every range with
# its exact standard error. Check it with `dplib plan`, try it with `dplib rehearse`, then `dplib run`.
config_version: 1
job: range-histograms
dataset: visits                      # the ledger's account that pays; `dplib init` creates it

# --- what decides the measurement: changing any of it spends anew ---
input:
  path: visits.csv                   # a file, folder, glob or list, relative to this file; or `table: db.visits`
  format: csv                        # or json, parquet, orc, delta: dplib guide input
  options: {header: "true"}
  columns: {value: age, group: site, unit: patient_id}
privacy:
  unit: patient                      # whose presence is protected: event (one row), patient, customer, ...
  neighbors: add_remove              # or replace_one
  max_rows_per_unit: 3               # public cap; rows beyond it are dropped by a keyed hash
  budget: {epsilon: 1}               # or {rho: 0.5}, or {epsilon: 1, delta: 1.0e-6}
  quality_share: 0.02                # of it, to tell how many of the rows were counted; nothing is told without it
  noise: auto                        # discrete_laplace for pure epsilon, discrete_gaussian otherwise
histogram:
  edges: {start: 0, stop: 120, width: 1}   # or a list of edges; bins [a, b), the last one closed
  # days: {first: 2024-01-01, last: 2024-12-31, days_per_bin: 1}
  # and, in place of days and of the section tree, day by day: dplib guide streams
  # categories: [mild, moderate, severe]   # or {file: categories.txt}
  groups: [north, south]             # or {file: groups.txt}; without it (and input.columns.group) one histogram;
                                     # or {file: sites.csv, columns: [site], attributes: [region]}, whose groups add up:
  # groupings: [[region], []]        # sums of groups by attribute, [] of all; or of listed groups:
  # totals: [{totals: {both: [north, south]}}]
  outside: drop                      # or clamp: numbers beyond the edges count in the first or last bin
  total_is_public: false             # true: the number of rows of each group is published exactly (replace_one)
tree:
  method: auto                       # blue, workload_aware, lue_dptree, boost, boost_un, hierarchical_bins, dwork, or
                                     # adaptive (sparse data; no error is stated)
  queries: uniform                   # or prefix, {length: 7}, {ranges: [[0, 18], [18, 65]]}, {starts: .., ends: ..}
# queries: [bin, {range: {length: 7}, weight: 2}, total]   # in place of tree.queries: several kinds of ranges
# measure: auto                      # of groups that add up: shares of groups and sums; or {shares: [2, 1, 1]}

# --- what only shapes the result: changing it never spends ---
publish:
  layout: auto                       # driver, or blocks: groups in parallel on Spark
  output: {path: releases, csv: true}
ledger: sqlite:///ledger.db          # relative to this file; or postgresql://...
secret: file:dplib.key               # or env:NAME, or command:...
spark: {master: "local[*]"}          # ignored under spark-submit
"""
