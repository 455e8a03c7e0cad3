"""The commented configuration that ``dplib example minimum-cuts`` writes."""

EXAMPLE = """\
# Configuration of the job minimum-cuts: releases about the minimum cuts of one graph under one budget. Check it with
# `dplib plan`, try it with `dplib rehearse`, then `dplib run`.
config_version: 1
job: minimum-cuts
dataset: contacts                    # the ledger's account that pays; `dplib init` creates it

# --- what decides the measurement: changing any of it spends anew ---
input:
  path: contacts.csv                 # one row an edge; a file, folder, glob or list; or `table: db.contacts`
  format: csv                        # or json, parquet, orc, delta, snap, metis, gml: dplib guide minimum-cuts
  options: {header: "true"}
  columns: {source: person, target: met}   # weight: minutes where rows have one (whole numbers)
privacy:
  unit: contact                      # what changes the weight of one pair
  neighbors: edge                    # graphs whose weight of one pair differs by at most weight_cap
  weight_cap: 1
  budget: {epsilon: 1}               # or {rho: 0.5}, or {epsilon: 1, delta: 1.0e-6} (needed by sampled_cuts)
  quality_share: 0.02                # of it, to tell how many of the rows were counted; nothing is told without it
  noise: auto                        # discrete_laplace for pure epsilon, discrete_gaussian for rho
graph:
  directed: false                    # both orientations of a pair are one edge
  vertices: {count: 20, first: 0}    # whole numbers; or a list of names, or {file: people.txt}; public
  weights: {largest: 1, outside: clamp, repeats: sum}   # once: lists that hold every edge in both directions
    # capped: row (one unit is one row), pair (all rows of a pair), or promised (nothing is cut to weight_cap)
cuts:
  releases:                          # share: weight in the split of the budget; leave out what you do not need
    minimum_cut_value: {share: 1}
    synthetic_graph: {share: 2}      # noisy weights of all pairs: near-minimum cuts, their number, the cactus for free
    top_cuts: {share: 2, k: 3, method: peeling, values_share: 0.5}   # at most 24 vertices
    # sampled_cuts: {share: 2, k: 3, when_small: refuse, values_share: 0.5}   # any size; needs delta; or pad
    # soft_cut_count: {share: 1, eta: 1}   # at most 24 vertices
    # minimum_cut_count: {share: 1}  # noise of the worst graph: hardly ever of use
  method: auto                       # of sampled_cuts: packing (never misses a cut), karger, karger-stein

# --- what only shapes the result: changing it never spends ---
publish:
  factor: 1.1                        # cuts of the synthetic graph up to this multiple of its minimum
  most_cuts: 1000
  output: {path: releases, csv: true}
plan: {minimum_cut_values: [10, 40, 160]}   # for which graphs the plan says what to expect
ledger: sqlite:///ledger.db          # relative to this file; or postgresql://...
secret: file:dplib.key               # or env:NAME, or command:...
spark: {master: "local[*]"}          # ignored under spark-submit
"""
