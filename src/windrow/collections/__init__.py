"""The five collections that windrow has built in, each in a folder of its own."""
