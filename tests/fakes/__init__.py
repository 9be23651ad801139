"""Stand-ins that speak the real protocol, so that tests cross the real client code."""
