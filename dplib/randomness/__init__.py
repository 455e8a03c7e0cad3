"""Keyed cryptographic randomness: the secret, derived keys, streams, exact draws."""
