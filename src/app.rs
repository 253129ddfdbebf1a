//! Bind, know the address, run until shutdown.
