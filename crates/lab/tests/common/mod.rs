//! What the tests of scenarios share: a scenario's text becomes a model, or the test fails with what is wrong.

use scenario::{Model, NoFiles, Style, read_with};

/// The first cell of the scenario `text`, with `set` laid over it.
pub(crate) fn model<S: AsRef<str>>(text: &str, set: &[S]) -> Model {
    let set: Vec<String> = set.iter().map(|s| s.as_ref().to_owned()).collect();
    match read_with("test.toml", text.as_bytes(), &NoFiles, &set) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(Style::default())),
    }
}
