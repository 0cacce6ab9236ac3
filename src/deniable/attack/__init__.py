"""What a transcript really leaks: the distinguishing game, exact for small cases."""

from deniable.attack.exact import likelihood_ratio, total_variation, transcript_distribution

__all__ = ["likelihood_ratio", "total_variation", "transcript_distribution"]
