"""ccfw: simulate culturally situated help-seeking, judge it, and hold the judges against humans."""

__version__ = "0.1.0"
