"""The page that explains one release."""
