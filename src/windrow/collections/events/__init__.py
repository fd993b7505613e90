"""Public calendars and schedules, as VotersDaily's two databases."""
