"""What a setting is: kinds of values, layers and origins; collections declare theirs with these."""
