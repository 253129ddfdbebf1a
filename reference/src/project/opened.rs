//! A project's library, opened.

use std::path::PathBuf;
use std::sync::Arc;

use crate::embed::provider::Provider;
use crate::index::document::Cutting;
use crate::index::later::Marking;
use crate::index::library::{Library, LibraryError, Parts};
use crate::project::config::{ConfigError, ProjectConfig, StoreChoice};
use crate::project::models;
use crate::project::place::{PlaceError, ProjectFolder};
use crate::search::settings::SearchSettings;
use crate::store::chroma::open::ChromaStore;
use crate::store::contract::Store;
use crate::store::postgres::open::{PostgresOptions, PostgresStore};
use crate::store::records::StoreError;
use crate::store::sqlite::open::SqliteStore;
#[cfg(feature = "tenants")]
use crate::tenants::{roll::Roll, store::TenantStore};

/// Why a project cannot be opened; every message begins with its code where callers know one.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is none.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Its configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its library is not ours to use.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Its store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was never indexed.
    #[error("INDEX_MISSING: {0} has no index yet: run `serin reference index`")]
    NoIndex(PathBuf),
    /// Its configuration cannot be followed.
    #[error("{0}")]
    Setting(String),
}

/// A project: where it is and what its configuration says.
#[derive(Debug, Clone)]
pub struct Project {
    /// Where it is.
    pub place: ProjectFolder,
    /// What it says.
    pub config: ProjectConfig,
}

impl Project {
    /// The project that a folder belongs to.
    ///
    /// # Errors
    /// `Place`, `Config`.
    pub fn find(from: &std::path::Path) -> Result<Self, ProjectError> {
        let place = ProjectFolder::find(from)?;
        let config = ProjectConfig::read(&place)?;
        Ok(Self { place, config })
    }

    /// Its store, made where there is none.
    ///
    /// # Errors
    /// `Setting`, `Store`.
    pub async fn store(&self) -> Result<Arc<dyn Store>, ProjectError> {
        let store: Arc<dyn Store> = match self.config.store(&self.place).map_err(ProjectError::Setting)? {
            StoreChoice::Sqlite(path) => Arc::new(SqliteStore::open(&path).await?),
            StoreChoice::Chroma(path, options) => Arc::new(ChromaStore::open(&path, options).await?),
            StoreChoice::Postgres(url) => Arc::new(PostgresStore::open(&url, PostgresOptions::default()).await?),
        };
        #[cfg(feature = "tenants")]
        if self.config.has_tenants() {
            return Ok(Arc::new(TenantStore::new(store)));
        }
        Ok(store)
    }

    /// Its library.
    ///
    /// # Errors
    /// As `store`, and `Library`.
    pub async fn library(&self) -> Result<Library, ProjectError> {
        Ok(Library::open(self.parts().await?).await?)
    }

    /// What its library is made of.
    ///
    /// # Errors
    /// As `store`.
    pub async fn parts(&self) -> Result<Parts, ProjectError> {
        let (cutting, lock) = (self.cutting()?, Some(self.place.lock()));
        let parts = Parts::new(self.store().await?, self.embedder()?);
        Ok(Parts { cutting, lock, preparing: Arc::new(Marking(Arc::clone(&parts.preparing))), ..parts })
    }

    /// Who is let in to a part of it; `None` where there are no tenants. Only who serves reads their tokens.
    ///
    /// # Errors
    /// `Setting`, such as a variable that is not set.
    #[cfg(feature = "tenants")]
    pub fn tenants(&self) -> Result<Option<Roll>, ProjectError> {
        self.config.tenants().map_err(ProjectError::Setting)
    }

    /// What it is about, as callers are told.
    pub fn subject(&self) -> String {
        self.config.subject().told(&self.place.root)
    }

    fn embedder(&self) -> Result<Provider, ProjectError> {
        models::embedder(self.config.embedder(), &self.place).map_err(ProjectError::Setting)
    }

    /// How it is searched, with its reranker and its writer of questions where they are wanted.
    ///
    /// # Errors
    /// `Setting`.
    pub fn settings(&self) -> Result<SearchSettings, ProjectError> {
        let reranker = models::reranker(self.config.reranker(), &self.place).map_err(ProjectError::Setting)?;
        let writer = models::writer(self.config.writer()).map_err(ProjectError::Setting)?;
        Ok(SearchSettings { reranker, writer, ..self.config.settings() })
    }

    fn cutting(&self) -> Result<Cutting, ProjectError> {
        self.config.cutting().map_err(ProjectError::Setting)
    }

    /// Its library, whatever embedder made what is there: for whoever takes it all away.
    ///
    /// # Errors
    /// As `store`.
    pub async fn library_anew(&self) -> Result<Library, ProjectError> {
        let parts = self.parts().await?;
        parts.store.wipe(false).await?;
        Ok(Library::open(parts).await?)
    }

    /// Its library, for somebody who only reads: a project that was never indexed is an error here,
    /// and no file is made.
    ///
    /// # Errors
    /// `NoIndex`, and as `library`.
    pub async fn indexed_library(&self) -> Result<Library, ProjectError> {
        if let StoreChoice::Sqlite(path) | StoreChoice::Chroma(path, _) =
            self.config.store(&self.place).map_err(ProjectError::Setting)?
            && !path.is_file()
        {
            return Err(ProjectError::NoIndex(self.place.root.clone()));
        }
        self.library().await
    }
}
