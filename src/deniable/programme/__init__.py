"""What an audit office runs for months: one programme in one database, its rounds, and what it publishes."""
