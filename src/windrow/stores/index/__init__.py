"""Full text: the tables of the Summary Database, and an index beside them."""
