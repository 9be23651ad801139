"""Judges and panels of them held against people; the paper's figures beside (section 5.2, Appendices K.2 and M)."""
