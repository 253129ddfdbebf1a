//! The files that a fleet was declared by, as they stood: enough to read it again when they are long gone. What they name as
//! a secret is a reference in them, never the secret.

/// Every file of one fleet, the first one first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetFiles {
    /// In the order in which their lines are numbered; locks come last.
    pub files: Vec<FleetFile>,
    /// Which golden sets they name.
    pub golden: Vec<GoldenPlace>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetFile {
    /// As pages and faults show it.
    pub name: String,
    /// What it holds.
    pub text: String,
    /// What sort of file it is.
    pub kind: FleetFileKind,
    /// Places among the files: of the one that brings this one in, or of those that a lock stands beside.
    pub of: Vec<usize>,
}

/// On whose word a file is to be in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileWord {
    /// Somebody changed it, on this machine first.
    Change,
    /// A machine starts with it. As long as any that lives has the one in force, that one stays: a machine that breaks down
    /// with its new file is to take nothing from the others.
    Start,
    /// The same, once that machine has worked for a while. One that was in force before is an older one.
    Proven,
    /// A server that took over lacks that it was put in force. One that came later stays.
    Again,
}

/// What a file is to its fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetFileKind {
    /// It declares.
    Yaml,
    /// It declares what a source of `discover:` lists; Serin wrote it itself.
    Discovered,
    /// It holds canaries, one a line.
    Golden,
    /// It holds what is pinned.
    Lock,
}

/// A golden set, as a file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenPlace {
    /// The place of the file that names it.
    pub by: usize,
    /// As it is written there.
    pub name: String,
    /// The place of the set.
    pub place: usize,
}

impl FleetFileKind {
    /// The word that stands in the database for it.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Discovered => "discovered",
            Self::Golden => "golden",
            Self::Lock => "lock",
        }
    }

    /// What a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Yaml, Self::Discovered, Self::Golden, Self::Lock].into_iter().find(|kind| kind.slug() == slug)
    }
}

impl FleetFiles {
    /// A fleet of one file.
    pub fn single(name: &str, text: &str) -> Self {
        let (name, text) = (name.to_owned(), text.to_owned());
        Self { files: vec![FleetFile { name, text, kind: FleetFileKind::Yaml, of: Vec::new() }], golden: Vec::new() }
    }
}
