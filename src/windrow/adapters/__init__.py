"""The interface between a collection and a workspace, and a ready-made adapter for collections of records."""
