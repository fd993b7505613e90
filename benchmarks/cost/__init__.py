"""What windrow's work costs, in counts that do not depend on the load of the machine."""
