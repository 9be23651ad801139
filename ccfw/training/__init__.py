"""Paper 2, part II: reward models, selection among stored answers, policy optimisation (docs/training.md)."""
