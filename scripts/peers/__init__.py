"""Other libraries at dplib's work, each in an environment of its own, and the guide's page that compares them."""
