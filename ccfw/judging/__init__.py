"""The six metrics, what several members of a judge say together, the trios of judges, and attacks on judges."""
