"""The stages of the job ``kmeans``: design, measure, estimate, publish, query, and what is said about them."""
