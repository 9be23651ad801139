"""Statistics: arrays in, named results out; no model, file or table library."""
