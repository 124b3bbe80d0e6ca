//! Starter scenario of `williwaw new`: a file that runs unchanged, with comments on every part and its
//! alternatives.

/// Starter file, as `williwaw new` writes it.
pub const STARTER: &str = include_str!("starter.toml");

#[cfg(test)]
mod tests {
    use crate::{NoFiles, read};

    #[test]
    fn the_starter_is_a_scenario() {
        let scenario =
            read("starter.toml", super::STARTER.as_bytes(), &NoFiles).unwrap_or_else(|d| panic!("{d}"));
        assert!(scenario.warnings().is_empty(), "{}", scenario.warnings());
        assert_eq!(scenario.cell_count(), Some(4));
        assert!(scenario.question().is_none());
    }

    /// The alternatives in comments must be valid too.
    #[test]
    fn what_the_starter_suggests_is_right() {
        let text = super::STARTER
            .replace("# [[hop.loss]]\n# name", "[[hop.loss]]\nname")
            .replace("# probability = ", "probability = ");
        let scenario = read("starter.toml", text.as_bytes(), &NoFiles).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(scenario.first().losses.len(), 1);
    }
}
