"""Events in the forms that other programs read: iCalendar, Atom, JSON Feed, CSV, Open Civic Data."""
