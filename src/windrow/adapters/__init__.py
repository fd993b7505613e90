"""What joins a collection with a workspace, and the ready adapter of collections whose values are records."""
