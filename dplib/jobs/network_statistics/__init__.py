"""The stages of the job ``network-statistics``; a job file puts them in a row."""
