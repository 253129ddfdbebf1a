//! Latency over time.
