//! Which files are code, by their names.

/// Ends of names whose files are code, or in which a hash is no heading.
const CODE_ENDINGS: &[&str] = &[
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "kts", "c", "h", "cc", "cpp", "cxx",
    "hpp", "cs", "swift", "scala", "php", "dart", "groovy", "rb", "rake", "sh", "bash", "zsh", "pl", "lua", "sql",
    "yaml", "yml", "toml", "json", "ini", "css", "scss",
];

/// Whether a source of this name is code.
pub(super) fn is_code(source: &str) -> bool {
    let ending = source.rsplit(['/', '\\']).next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    ending.is_some_and(|ending| CODE_ENDINGS.contains(&ending.to_lowercase().as_str()))
}
