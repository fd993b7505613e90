"""Ready parsers: values that say how the sources of one publisher are read."""
