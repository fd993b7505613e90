"""The transports, which fetch bytes from sources. Import from the modules: the package itself imports nothing."""
