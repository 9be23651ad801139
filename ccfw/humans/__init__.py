"""Human ratings and judges' scores, from whatever file they are in, to one exact table."""
