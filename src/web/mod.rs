//! Pages, API, metrics, live events.
