//! Words everyone shares: time, units, randomness, packets, events.
