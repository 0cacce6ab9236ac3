"""Studies: simulated noise and the batch engine. The programme and the console cannot import this package."""
