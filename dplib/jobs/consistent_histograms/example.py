"""The commented configuration that ``dplib example consistent-histograms`` writes."""

EXAMPLE = """\
# Configuration of the job consistent-histograms: counts by item and day, consistent over a tree of days and with the
# constraints of each day. Check it with `dplib plan`, try it with `dplib rehearse`, then `dplib run`.
config_version: 1
job: consistent-histograms
dataset: shop                        # the ledger's account that pays; `dplib init` creates it

# --- what decides the measurement: changing any of it spends anew ---
input:
  path: orders.csv                   # a file, folder, glob or list, relative to this file; or `table: db.orders`
  format: csv                        # or json, parquet, orc, delta: dplib guide input
  options: {header: "true"}
  columns: {day: date, item: product, quantity: quantity, unit: order_id}
  # columns: {day: date, items: all, unit: order_id}   # where a column is an item; max_quantity caps a row's sum
  date_format: yyyy-MM-dd            # Spark's pattern; ignored for columns that are dates already
  timezone: UTC                      # in which a timestamp becomes a day
privacy:
  unit: order                        # whose presence is protected: event (one row), order, customer, ...
  neighbors: add_remove              # or replace_one
  max_rows_per_unit: 10              # public caps; rows beyond them are dropped by a keyed hash
  # max_rows_per_day: 5              # sharper Gaussian noise where a unit spreads over days
  max_quantity: 5                    # larger quantities count as this
  budget: {epsilon: 1}               # or {rho: 0.5}, or {epsilon: 1, delta: 1.0e-6}
  quality_share: 0.02                # of it, to tell how many of the rows were counted; nothing is told without it
  noise: auto                        # discrete_laplace for pure epsilon, discrete_gaussian otherwise
domain:
  items: [bread, milk, tea, coffee]  # or {file: items.txt}, or {file: items.csv, column: name}
  # other: everything else           # an item for rows whose item is not listed; they are dropped without it
  first_day: 2024-01-01
  last_day: 2024-12-31               # both ends inclusive
constraints:
  - totals: {drinks: [tea, coffee, milk]}
    # totals_from: {file: products.csv, item: name, by: department}   # in place of `totals`: a column of a table
    # name: departments              # what a block of totals is called together: dplib query --item departments
    # measured: true                 # without `measure`: a count of its own, with the noise of the items
  # Where rows are packages (columns: {day: .., package: ..}):
  # - packages: {breakfast: {bread: 2, tea: 1}, lunch: {bread: 1, coffee: 1}}
  #   from: 2024-06-01               # menus change: from and to are days, both inclusive
  # Public invariants (privacy.neighbors: replace_one, unit: event):
  # - equations: {capacity: {coefficients: {tea: 1, coffee: 1}, value: 100}}
tree: auto                           # or {levels: [month, day], shares: [2, 1]}, {branching: [12, 31]}; calendar
# stream:                            # day by day under one budget, in place of tree and days: dplib guide streams
#   horizon: [2024-01-01, 2024-12-31]  # caps of one unit hold over all of it
#   levels: auto                     # or [quarter, month, day]
queries: [day, month, total]         # the ranges that plan and report speak of; {range: week, weight: 2}
measure: auto                        # shares of levels, items and totals for these queries; or {shares: [2, 1]}

# --- what only shapes the result: changing it never spends ---
publish:
  solver: {method: auto, layout: auto}
  output: {path: releases, csv: true}
ledger: sqlite:///ledger.db          # relative to this file; or postgresql://...
secret: file:dplib.key               # or env:NAME, or command:...
spark: {master: "local[*]"}          # ignored under spark-submit
"""
