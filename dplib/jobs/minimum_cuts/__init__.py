"""The stages of the job ``minimum-cuts``; a job file puts them in a row."""
