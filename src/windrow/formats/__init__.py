"""Convert bytes to values and back, without files, sockets or clocks."""
