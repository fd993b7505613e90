"""What windrow's work costs in things that can be counted, the same on a busy machine as on a quiet one."""
