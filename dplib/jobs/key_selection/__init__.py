"""The job ``key-selection``: which keys enough units share."""
