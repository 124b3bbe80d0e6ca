//! What a run leaves behind: journal, tables, statistics.
