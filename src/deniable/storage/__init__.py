"""Databases: SQLite or PostgreSQL, their tables and their backups. Nothing here knows what a programme is."""
