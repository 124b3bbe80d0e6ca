//! Scenario texts of the control tool: parsing with the files that they name, limits, and live check with description
//! and cost.

use crate::App;
use crate::error::Problem;
use crate::library::{Library, TEXT};
use scenario::{Diagnostics, Scenario};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Parsed scenario with the files that it names.
pub(crate) struct Read {
    pub(crate) scenario: Scenario,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Parses a scenario text; files that it names are in the folder of saved scenarios.
pub(crate) fn read(name: &str, text: &str, library: &Library) -> Result<Read, Diagnostics> {
    let files = RefCell::new(BTreeMap::new());
    let load = |path: &str| {
        let bytes = library.beside(path)?;
        files.borrow_mut().insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    };
    let scenario = scenario::read(name, text.as_bytes(), &load)?;
    Ok(Read { scenario, files: files.into_inner() })
}

/// Like [`read`], for a request that needs a valid scenario.
pub(crate) fn sound(name: &str, text: &str, library: &Library) -> Result<Read, Problem> {
    bounded(text)?;
    read(name, text, library).map_err(|wrong| {
        let first = wrong.iter().next().map_or_else(String::new, |d| d.message.clone());
        Problem::wrong(
            format!("the scenario cannot be run: {first}"),
            "correct it; every mistake is marked beside the text",
        )
    })
}

pub(crate) fn bounded(text: &str) -> Result<(), Problem> {
    if text.len() > TEXT {
        return Err(Problem::wrong(format!("the scenario is longer than {TEXT} bytes"), ""));
    }
    Ok(())
}

/// Live check: diagnostics with positions, or description and estimated cost of the scenario.
pub(crate) fn check(app: &App, name: &str, text: &str) -> Result<Value, Problem> {
    bounded(text)?;
    let read = read(name, text, &app.library).map(|read| read.scenario);
    let mut document = editor::document(text, read.as_ref(), &crate::meters::forecast);
    if let Ok(scenario) = &read {
        document["confirmed"] = json!(app.store.is_confirmed(&scenario.hash())?);
    }
    Ok(document)
}
