"""Private k-means, central and local: kernels over integer points, without noise of their own."""
