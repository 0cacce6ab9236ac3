"""The public record: its entries, how they are chained and signed, and what the world knows after each."""
