"""Mechanisms that draw exact noise from keyed streams."""
