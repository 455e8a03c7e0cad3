"""Stages of the job consistent-histograms: design, measure, estimate, publish, query."""
