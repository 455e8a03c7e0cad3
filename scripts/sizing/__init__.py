"""The cost model: measured runs, a fit of what they cost, and the page of the guide that predicts larger ones."""
