"""What a generator writes: templates, blueprints and shards; how each is asked for, read, audited and kept."""
