"""The collection `events`: public calendars and schedules, stored in two databases as VotersDaily planned them."""
