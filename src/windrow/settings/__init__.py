"""Settings: the kinds of their values, and the layers that set them; collections declare their settings with these."""
