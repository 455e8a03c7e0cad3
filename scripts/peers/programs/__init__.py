"""What the peers' environments run: each a script that imports no dplib and prints its results as lines of JSON."""
