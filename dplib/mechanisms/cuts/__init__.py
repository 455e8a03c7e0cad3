"""Mechanisms that release facts about the minimum cuts of a private graph."""
