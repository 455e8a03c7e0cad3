"""Speed and memory of the library, measured beside its peers in the same run."""
