//! The scenario file: read, checked, explained, built.
