"""The commented configuration that ``dplib example kmeans`` writes."""

EXAMPLE = """\
# Configuration of the job kmeans: centers of k clusters with weights and errors. Check it with `dplib plan`, try it
# with `dplib rehearse`, then `dplib run`.
config_version: 1
job: kmeans
dataset: customers                   # the ledger's account that pays; `dplib init` creates it

# --- what decides the measurement: changing any of it spends anew ---
input:
  path: customers.csv                # a file, folder, glob or list, relative to this file; or `table: db.customers`
  format: csv                        # or json, parquet, orc, delta: dplib guide input
  options: {header: "true"}
  columns: {coordinates: [age, visits, spending], unit: customer_id}   # or {vector: COLUMN} for a column of arrays
privacy:
  unit: customer                     # whose presence is protected: event (one row), patient, customer, ...
  neighbors: add_remove              # or replace_one
  max_rows_per_unit: 1               # public cap; rows beyond it are dropped by a keyed hash
  budget: {epsilon: 1}               # or {epsilon: 1, delta: 1.0e-6}, or {rho: 0.5}; above 3 coordinates a delta helps
  quality_share: 0.02                # of it, to tell how many of the rows were counted; nothing is told without it
clustering:
  bounds: [[18, 98], [0, 200], [0, 5000]]   # public, of each coordinate; or `radius` (and `center`) of a ball
  scale: bounds                      # distances in half widths of the bounds; none: as they are
  n_clusters: 5                      # exactly this many centers, whatever the rows are
  method: auto                       # grid, quadtree, tree_coreset, local_search, lloyd; for comparison kvariates,
                                     # max_cover, sample_aggregate, privgene
  missing: drop                      # rows without a readable number; or a list of public numbers in their place
  seed: 0                            # of public randomness only

# --- what only shapes the result: changing it never spends ---
publish:
  picture: {x: age, y: spending}     # the two coordinates that the report draws
  output: {path: releases, csv: true}
ledger: sqlite:///ledger.db          # relative to this file; or postgresql://...
secret: file:dplib.key               # or env:NAME, or command:...
spark: {master: "local[*]"}          # ignored under spark-submit
"""
