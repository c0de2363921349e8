"""Speaking first: reminders, timers, alarms, messages between rooms, announcements."""
