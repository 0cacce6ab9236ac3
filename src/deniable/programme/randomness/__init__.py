"""Public sources of randomness: values that the office can neither choose nor foresee."""
