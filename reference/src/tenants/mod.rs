//! Who asks, and which collections are theirs.
//!
//! A tenant is known by its token at the door (`serve::listener`). What it asks is answered on connections that show
//! nothing of other collections (`store`), so no step of a search, no tool and no cache has to know of tenants.

pub mod asker;

pub mod roll;

pub mod store;

pub mod door;
