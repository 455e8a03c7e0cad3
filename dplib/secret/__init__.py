"""The operator's secret, from which every key is derived."""
