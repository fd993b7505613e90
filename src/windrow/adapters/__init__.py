"""The interface between a collection and a workspace, and a ready adapter for collections of records."""
