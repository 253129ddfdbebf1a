//! Tells the program what it was built by and for, so that `serin status` can say it.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo:rustc-env=SERIN_TARGET={}", variable("TARGET"));
    let version = Command::new(variable("RUSTC")).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo:rustc-env=SERIN_RUSTC={}", version.as_deref().unwrap_or("rustc, version unknown").trim());
}
