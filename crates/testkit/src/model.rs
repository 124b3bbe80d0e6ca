//! Conversion of scenario text to a model, for tests.

use scenario::{Model, NoFiles, Style, read_with};

/// First cell of the scenario `text`, with the overrides `set` as by `--set`. Panics with the diagnostics.
pub fn model<S: AsRef<str>>(text: &str, set: &[S]) -> Model {
    let set: Vec<String> = set.iter().map(|s| s.as_ref().to_owned()).collect();
    match read_with("test.toml", text.as_bytes(), &NoFiles, &set) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(Style::default())),
    }
}
