"""Programs around the library: benchmarks, acceptance checks, experiments."""
