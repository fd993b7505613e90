"""The Summary Database: what was seen of every address, as versions in time with their texts and links."""
