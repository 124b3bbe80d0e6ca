//! Grammar engine of scenario files: value tree with spans, shape validation, table readers, overrides, JSON
//! Schema.

pub(crate) mod cx;
pub(crate) mod json;
pub(crate) mod leaf;
pub(crate) mod overrides;
pub(crate) mod reader;
pub mod schema;
pub use base::shape;
pub(crate) mod spelling;
pub(crate) mod syntax;
pub(crate) mod tree;
pub(crate) mod validate;
