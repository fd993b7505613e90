"""What reads documents of each kind: bytes -> events."""
