//! What documents may be fetched from, as the options have it.

use crate::index::fetch::Fetcher;
use crate::index::walk::Selection;
use crate::serve::arguments::{IndexArguments, PLAIN_TYPE};
use crate::serve::options::Options;

impl Options {
    /// A fetcher of files below the folder that is named, or else of the project's, and of addresses.
    ///
    /// # Errors
    /// The pattern or folder of the project's configuration that cannot be read.
    pub fn fetcher(&self) -> Result<Fetcher, String> {
        let below = self.root.as_deref().map(Selection::all).transpose()?;
        let below = below.map(|below| below.keeping_out(self.database.clone()));
        #[cfg(feature = "project")]
        let plan = self.project.as_ref().map(|project| project.config.plan(&project.place)).transpose()?;
        #[cfg(feature = "project")]
        let project = plan.map(|plan| plan.selection);
        #[cfg(not(feature = "project"))]
        let project = None;
        Ok(Fetcher::new(below, project, self.allow_private.clone()))
    }
}

impl IndexArguments {
    /// Takes what a document was in, such as `pdf`, for its kind where the caller says none.
    pub(super) fn was_in(&mut self, kind: Option<&str>) {
        if let Some(kind) = kind.filter(|_| self.source_type == PLAIN_TYPE) {
            kind.clone_into(&mut self.source_type);
        }
    }
}
