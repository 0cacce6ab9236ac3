"""What only the office may read, and what only its oversight body may read."""
