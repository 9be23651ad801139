"""The door to every model: one protocol, one adapter, one ledger."""
