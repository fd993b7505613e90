"""Settings: kinds of values, their layers and origins; collections declare their own settings with these."""
