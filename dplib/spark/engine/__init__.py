"""Spark itself: session, Java, blocks, rounds."""
