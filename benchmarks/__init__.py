"""Measurements of the program against its bars."""
