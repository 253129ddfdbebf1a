//! BERT-class models from a folder that the user gives, on this machine's processor.
//!
//! Nothing is ever fetched: a folder that lacks a file is an error that names the file. Formulas are those of
//! Devlin et al., *BERT* (2018), and of Reimers and Gurevych, *Sentence-BERT* (2019); names of files and tensors
//! are those of Hugging Face's `transformers` and `sentence-transformers`.
//!
//! Read `folder` (what is read and checked), `encoder` (tokens to hidden states) over `rows`, then `sentence` (a text to a
//! vector) and `pair` (two texts to a score). The invariant: whatever does not fit BERT is refused when the
//! folder is opened; a model that almost fits would give vectors that almost mean something.

pub mod folder;
pub mod rows;
pub mod encoder;
pub mod sentence;
pub mod pair;
#[cfg(test)]
pub(crate) mod tiny;
#[cfg(test)]
pub(crate) mod straight;
