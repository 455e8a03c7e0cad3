"""Releases as analysts read them: tables, answers with exact errors, plots; post-processing alone."""
