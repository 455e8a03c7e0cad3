"""What commands print: tables, messages, progress, exit codes."""
