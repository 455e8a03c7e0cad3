"""The commented configuration that ``dplib example key-selection`` writes."""

EXAMPLE = """\
# Configuration of the job key-selection: which products, places or words enough units share, where the list of them is
# itself in the data. Check it with `dplib plan`, try it with `dplib rehearse`, then `dplib run`. Other jobs take what
# it released: `items: {release: releases/shop-000001}`.
config_version: 1
job: key-selection
dataset: shop                        # the ledger's account that pays; its currency must be approx, since delta is spent

# --- what decides the selection: changing any of it spends anew ---
input:
  path: orders.csv                   # a file, folder, glob or list, relative to this file; or `table: db.orders`
  format: csv                        # or json, parquet, orc, delta: dplib guide input
  options: {header: "true"}
  columns: {key: product, unit: customer}   # or keys: [product, shop], which together are one key
privacy:
  unit: customer                     # whose presence is protected: event (one row), customer, ...
  max_keys_per_unit: 10              # public cap; further keys of a unit wait, in the order of a keyed hash
  budget: {epsilon: 1, delta: 1.0e-6}   # or {rho: 0.01, delta: 1.0e-6}
selection:
  mechanism: auto                    # table (truncated_geometric for one key a unit); gaussian or laplace: with weights
  max_keys: 100000                   # keys of the release at most

# --- what only shapes the result: changing it never spends ---
publish:
  output: {path: releases, csv: true}
ledger: sqlite:///ledger.db          # relative to this file; or postgresql://...
secret: file:dplib.key               # or env:NAME, or command:...
spark: {master: "local[*]"}          # ignored under spark-submit
"""
