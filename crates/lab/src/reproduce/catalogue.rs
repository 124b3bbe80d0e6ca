//! Catalogue of claims, `experiments/catalogue.toml`: statement of each claim, joined with the test that this
//! program runs.

use super::ReproduceError;
use super::experiment::{Claim, GROUPS};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A claim as the catalogue states it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueClaim {
    /// Experiment that tests the claim.
    pub experiment: String,
    /// `hard`, `statistical` or `inferred`.
    pub kind: String,
    /// The inequality.
    pub test: String,
}

/// A claim of the catalogue, with its test if there is one.
#[derive(Clone, Debug)]
pub struct Listed {
    /// `C001`.
    pub id: String,
    /// Claim as the catalogue states it.
    pub stated: CatalogueClaim,
    /// Test that this program runs.
    pub test: Option<Claim>,
}

impl Listed {
    /// Relation of the test to the catalogue's statement, as text: `equal`, the difference, not compared, or not
    /// tested.
    pub fn statement(&self) -> String {
        match self.test.as_ref().map(|claim| claim.letter.as_deref()) {
            None => "not tested here".to_owned(),
            Some(None) => "not compared".to_owned(),
            Some(Some("equal")) => "equal".to_owned(),
            Some(Some(how)) => format!("differs: {how}"),
        }
    }
}

/// All claims of the catalogue, ordered by id.
///
/// # Errors
/// The catalogue or a claims file cannot be parsed.
pub fn claims() -> Result<Vec<Listed>, ReproduceError> {
    let text = include_str!("../../../../experiments/catalogue.toml");
    let stated: BTreeMap<String, CatalogueClaim> =
        toml::from_str(text).map_err(|e| ReproduceError::Data(format!("catalogue.toml: {e}")))?;
    let mut tests: BTreeMap<String, Claim> = BTreeMap::new();
    for group in GROUPS {
        tests.extend(group.claims()?.claim.into_iter().map(|claim| (claim.id.clone(), claim)));
    }
    Ok(stated.into_iter().map(|(id, stated)| Listed { test: tests.remove(&id), id, stated }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_belongs_to_a_stated_claim() {
        let all = claims().unwrap();
        assert_eq!(all.len(), 188);
        for group in GROUPS {
            for claim in group.claims().unwrap().claim {
                let listed = all.iter().find(|listed| listed.id == claim.id);
                assert!(listed.is_some_and(|listed| listed.test.is_some()), "{}", claim.id);
            }
        }
        let one = all.iter().find(|listed| listed.id == "C001").unwrap();
        assert_eq!(
            (one.stated.experiment.as_str(), one.statement().as_str()),
            ("gprs-eifel/table2", "equal")
        );
    }
}
