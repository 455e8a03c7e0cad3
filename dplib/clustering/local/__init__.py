"""k-means methods where every user sends one randomized report."""
