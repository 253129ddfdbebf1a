//! Questions that look alike and are not (RETRIEVAL.md §3, check 9).

/// Two canaries of one monitor that ask nearly the same and have to get other answers, such as how a feature is switched on
/// and how it is switched off: a cache that takes nearness for sameness mixes them up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// Id of the canary that names the other one.
    pub canary: String,
    /// Id of the other one.
    pub other: String,
}
