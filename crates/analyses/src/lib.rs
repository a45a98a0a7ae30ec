//! What bound each TCP flow, when and for how long: pure analyses over slowpath events.
