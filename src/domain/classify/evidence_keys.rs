//! Names of evidence that others look for.

/// The evidence key under which an incident says how far one gets, step by step.
pub const LADDER: &str = "ladder";

/// The evidence key under which a finding names the fault that the wire showed.
pub const FAULT: &str = "fault";

/// The evidence key under which a declared call stands that no longer fits its tool.
pub const INVALID_CALL: &str = "invalid_call";

/// The evidence key under which a finding names the health address it heard of.
pub const HEALTH_URL: &str = "health_url";
