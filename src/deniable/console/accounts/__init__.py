"""Who may use the console, one file a noun: people with a role, a password and one-time codes, links that invite them,
tokens for machines, and the log of what they did.

Functions on a connection of the store and the console's key. What is in the database opens nothing without that key.
"""
