"""The universe that scenarios come from, and the seeds that are drawn from it (sections 3.2 and 3.3)."""
