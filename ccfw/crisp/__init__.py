"""Culturally situated data and their test bed (paper 2, CRISP, part I): what the stages are made of, without disk."""
