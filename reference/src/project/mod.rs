//! A project that has an index: where its configuration is, what it says, and how it is opened.

pub mod place;

pub mod models;

pub mod readme;

pub mod subject;

pub mod sections;

pub mod config;

pub mod template;

pub mod opened;
