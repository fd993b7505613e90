"""Public calendars and schedules, in two databases as VotersDaily planned them."""
