"""The stages of the job ``range-histograms``; a job file puts them in a row."""
