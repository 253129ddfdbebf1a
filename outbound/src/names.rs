//! Names resolved under the guard, for callers that speak through an HTTP client.

use std::net::SocketAddr;
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard;

/// Resolves names and drops every address the guard refuses.
#[derive(Debug, Clone)]
pub struct Guarded {
    allow: Arc<[IpNet]>,
}

impl Guarded {
    /// A resolver that lets public addresses pass, and those of the networks given.
    pub fn new(allow: &[IpNet]) -> Self {
        Self { allow: allow.into() }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let allow = Arc::clone(&self.allow);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let mut passed: Vec<SocketAddr> = Vec::new();
            let mut refusal = None;
            for address in found {
                match guard::allowed(address.ip(), &allow) {
                    Ok(()) => passed.push(address),
                    Err(refused) => refusal = Some(refused),
                }
            }
            match refusal {
                Some(refusal) if passed.is_empty() => Err(refusal.into()),
                _ => Ok(Box::new(passed.into_iter()) as Addrs),
            }
        })
    }
}
