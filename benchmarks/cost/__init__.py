"""The cost of windrow's work, in counts that do not depend on the load of the machine."""
