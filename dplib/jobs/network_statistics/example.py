"""The commented configuration that ``dplib example network-statistics`` writes."""

EXAMPLE = """\
# Configuration of the job network-statistics: statistics of one graph under one budget. Check it with `dplib plan`, try
# it with `dplib rehearse`, then `dplib run`.
config_version: 1
job: network-statistics
dataset: friends                     # the ledger's account that pays; `dplib init` creates it

# --- what decides the measurement: changing any of it spends anew ---
input:
  path: friends.csv                  # one row an edge; a file, folder, glob or list; or `table: db.friends`
  format: csv                        # or json, parquet, orc, delta, snap, metis, gml: dplib guide minimum-cuts
  options: {header: "true"}
  columns: {source: person, target: friend}
privacy:
  unit: friendship                   # what an edge stands for (between vertices: what a vertex stands for)
  neighbors: edge                    # or vertex: all edges of one vertex; use it with a degree bound
  model: central                     # or local: every vertex randomizes its own report (see graph.local)
  budget: {epsilon: 1}               # or {rho: 0.5}, or {epsilon: 1, delta: 1.0e-6}
  quality_share: 0.02                # of it, to tell how many of the rows were counted; nothing is told without it
  noise: auto                        # discrete_laplace for pure epsilon, discrete_gaussian otherwise
graph:
  directed: false                    # both orientations of a pair, and repeated rows, are one edge
  vertices: {count: 1000, first: 0}  # whole numbers; or a list of names, or {file: people.txt}; public
  statistics:                        # name: weight in the split of the budget; leave out what you do not need
    edge_count: 1
    largest_degree: 1
    degree_histogram: 2
    # cumulative_histogram: 2        # vertices of degree at most 0, 1, 2, ...
    # degree_sequence: 2             # the degree of every vertex
    # sorted_degrees: 2              # isotonic regression
    # k_stars: 1
    triangles: 3
    # adjacency: 5                   # a noisy graph: is there an edge, and edges of declared blocks
    # split: 1                       # the best of declared splits into groups (see graph.split)
    # coverage: 1                    # the best of declared sets of seeds (see graph.coverage)
  last_bin: 100                      # of degree histograms; it holds all higher degrees too
  stars: 2                           # edges of the stars that k_stars counts
  # star_mechanism: auto             # ladder: noise that follows the largest degrees; global: of the worst graph
  degree_bound: {bounding: none}     # or {bounding: projected, largest: 50}, or promised (by the data's collection)
  triangles: {mechanism: auto, rungs: second_degree}   # ladder, smooth, global; common_neighbors, exact: less noise
  # adjacency: {blocks: {staff: [0, 1, 2], guests: [3, 4]}}           # or {file: blocks.csv}: columns block, vertex
  # split: {candidates: {file: splits.csv}, resolution: 1/100}        # columns candidate, vertex, group
  # coverage: {candidates: {first: [0, 1], last: [998, 999]}}         # or a file: columns candidate, vertex
  # The local model has statistics degree_sequence and adjacency (each vertex's noisy degree, and a randomized bit for
  # every later vertex), and estimates the others from them. With `input.columns: {vertex: .., degree: .., bits: ..}`
  # the rows are reports that vertices made themselves; with source and target the job simulates them.
  # local: {counting: both_ends}     # or one_end: an edge is in the reported degree of its earlier end alone

# --- what only shapes the result: changing it never spends ---
publish:
  output: {path: releases, csv: true}
counting: {layout: auto}             # where edges are counted: driver, or spark for a graph that fits no process
ledger: sqlite:///ledger.db          # relative to this file; or postgresql://...
secret: file:dplib.key               # or env:NAME, or command:...
spark: {master: "local[*]"}          # ignored under spark-submit
"""
