"""k-means methods where one holder has all rows."""
