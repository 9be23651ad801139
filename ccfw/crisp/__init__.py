"""Culturally situated data and their test bed (paper 2, CRISP, part I), without disk but for ``reading``."""
