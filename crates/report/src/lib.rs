//! Pictures of a run: self-contained pages and static drawings.
