"""What several releases cost together: each accountant is a theorem about composition.

What one event costs stands here too (`event_curve`, `event_moments`), because an event may be a composition.
"""
