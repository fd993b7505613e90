"""Settings: kinds of values, and where values are set; collections declare their own settings with these."""
