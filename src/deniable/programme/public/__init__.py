"""What an office publishes, and how a reader checks it."""
