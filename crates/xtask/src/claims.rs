//! Generated page of claims: the catalogue's test of each claim, the test that runs here, whether both are
//! equal, and the recorded verdict.
//!
//! `experiments/catalogue.toml` states all claims; the `claims.toml` of each group contains the tests. The
//! key `letter` of a test is `equal`, or says how the test departs from the catalogue's.

use crate::record::Recorded;
use crate::tree::Tree;
use crate::{Findings, NOTE};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Catalogue of all claims.
const CATALOGUE: &str = "experiments/catalogue.toml";

/// The test of a claim that this program runs.
struct Test {
    /// The inequality, or the reason why `reproduce` cannot test the claim.
    test: Result<String, String>,
    letter: Option<String>,
    /// Reasons of comparisons that are known to fail, each with the cells and values that it explains.
    differs: Vec<String>,
}

/// The generated page.
pub(crate) fn page(tree: &Tree, recorded: &Recorded, findings: &mut Findings) -> Result<String, String> {
    let catalogue: toml::Table = tree.text(CATALOGUE)?.parse().map_err(|e| format!("{CATALOGUE}: {e}"))?;
    let tests = tests(tree)?;
    for id in tests.keys().filter(|id| !catalogue.contains_key(*id)) {
        findings.errors.push(format!("{id} is tested and missing in {CATALOGUE}"));
    }
    let mut rows = String::new();
    let (mut equal, mut departs, mut silent) = (0, 0, 0);
    let (mut hold, mut literal, mut explained, mut fail) = (0, 0, 0, 0);
    for (id, entry) in &catalogue {
        let text = |key: &str| entry.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let (test, letter, reasons) = match tests.get(id) {
            None => (String::new(), "not tested here".to_owned(), String::new()),
            Some(test) => {
                let letter = match test.letter.as_deref() {
                    _ if test.test.is_err() => "not in `reproduce`".to_owned(),
                    Some("equal") => {
                        equal += 1;
                        "equal".to_owned()
                    }
                    Some(how) => {
                        departs += 1;
                        format!("differs: {how}")
                    }
                    None => {
                        findings.errors.push(format!(
                            "{id}: its claims.toml lacks `letter`, which states whether the test is the catalogue's"
                        ));
                        silent += 1;
                        "not compared".to_owned()
                    }
                };
                let cell = test.test.as_ref().map_or_else(String::clone, |test| format!("`{test}`"));
                (cell, letter, test.differs.join("; "))
            }
        };
        let verdict = recorded.claims.get(id).map_or("", String::as_str);
        match verdict {
            "holds" => {
                hold += 1;
                literal += usize::from(letter == "equal");
            }
            "explained" => explained += 1,
            "fails" => fail += 1,
            _ => {}
        }
        let verdict = if reasons.is_empty() { verdict.to_owned() } else { format!("{verdict}. {reasons}") };
        let cells =
            [format!("`{}`", text("test")), test, letter, verdict].map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(rows, "| {id} | {} | {} |", text("experiment"), cells.join(" | "));
    }
    let mut out = String::from(NOTE);
    let _ = write!(
        out,
        "# Claims\n\n\
         Every claim of the published studies: the test that the catalogue states (`{CATALOGUE}`), the test that runs\n\
         (`claims.toml` of its group), and whether the two are equal. The verdict is that of the recorded run.\n\
         `williwaw reproduce --claims` prints the same table, `williwaw reproduce` judges.\n\n\
         | | claims |\n|---|---:|\n\
         | in the catalogue | {} |\n| tested here | {} |\n| test equal to the catalogue's | {equal} |\n\
         | test differs, with the reason | {departs} |\n| not compared | {silent} |\n\
         | hold in the recorded run | {hold} |\n| of them by a test equal to the catalogue's | {literal} |\n| fail there, explained | {explained} |\n| fail there | {fail} |\n\n\
         | claim | experiment | catalogue's test | test here | letter | verdict |\n|---|---|---|---|---|---|\n{rows}",
        catalogue.len(),
        tests.values().filter(|test| test.test.is_ok()).count(),
    );
    Ok(out)
}

/// Distinct reasons in order: `r9 (274, 279), r13 (403, 410): why`, with the two sides of each failing
/// comparison.
fn reasons<'a>(failures: impl Iterator<Item = &'a toml::Value>) -> Vec<String> {
    let mut listed: Vec<(&str, Vec<String>)> = Vec::new();
    for failure in failures {
        let text = |key: &str| failure.get(key).and_then(toml::Value::as_str);
        let Some(why) = text("why") else { continue };
        let number = |key: &str| failure.get(key).map(toml::Value::to_string);
        let values = match (number("left"), number("right")) {
            (Some(left), Some(right)) => format!("({left}, {right})"),
            _ => String::new(),
        };
        let cell = format!("{} {values}", text("labels").unwrap_or_default()).trim().to_owned();
        match listed.iter_mut().find(|(known, _)| *known == why) {
            Some((_, cells)) => cells.push(cell),
            None => listed.push((why, vec![cell])),
        }
    }
    let line = |(why, cells): (&str, Vec<String>)| {
        let cells = cells.into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ");
        if cells.is_empty() { why.to_owned() } else { format!("{cells}: {why}") }
    };
    listed.into_iter().map(line).collect()
}

/// Tests of all groups, by claim.
fn tests(tree: &Tree) -> Result<BTreeMap<String, Test>, String> {
    let mut all = BTreeMap::new();
    for (path, text) in tree.all().filter(|(path, _)| is_group(path)) {
        let table: toml::Table = text.parse().map_err(|e| format!("{path}: {e}"))?;
        for claim in table.get("claim").and_then(toml::Value::as_array).into_iter().flatten() {
            let text = |key: &str| claim.get(key).and_then(toml::Value::as_str).map(str::to_owned);
            let Some(id) = text("id") else { continue };
            let failures = claim.get("differs").and_then(toml::Value::as_array).into_iter().flatten();
            let differs = reasons(failures);
            let over = claim.get("for").map_or_else(String::new, |over| format!(" for all of {over}"));
            let enough = ["share", "combinations", "exists"].into_iter().find_map(|key| {
                claim.get(key).map(|value| match key {
                    "share" => format!(" in at least {value} of the repetitions"),
                    "combinations" => format!(" for {value} of them at least"),
                    _ => " in one repetition at least".to_owned(),
                })
            });
            let test = match (text("test"), text("untestable")) {
                (_, Some(why)) => Err(why),
                (Some(test), None) => Ok(format!("{test}{over}{}", enough.unwrap_or_default())),
                (None, None) => continue,
            };
            all.insert(id, Test { test, letter: text("letter"), differs });
        }
    }
    Ok(all)
}

fn is_group(path: &str) -> bool {
    path.starts_with("experiments/") && path.ends_with("/claims.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATED: &str = "C001 = { experiment = \"a/b\", kind = \"hard\", test = \"x < y\" }\n\
        C002 = { experiment = \"a/c\", kind = \"hard\", test = \"|x| < y\" }\n\
        C003 = { experiment = \"a/d\", kind = \"hard\", test = \"z = 0\" }\n";

    fn of(claims: &str) -> (String, Findings) {
        let tree = Tree::of(&[(CATALOGUE, STATED), ("experiments/a/claims.toml", claims)]);
        let mut findings = Findings::default();
        let mut recorded = Recorded::default();
        recorded.claims.insert("C001".to_owned(), "holds".to_owned());
        (page(&tree, &recorded, &mut findings).unwrap(), findings)
    }

    #[test]
    fn tests_stand_beside_what_is_stated() {
        let (page, findings) = of("[[claim]]\nid = \"C001\"\ntest = \"X() < Y()\"\nletter = \"equal\"\n\
            [[claim]]\nid = \"C002\"\ntest = \"abs(X()) < Y()\"\nletter = \"on means\"\nshare = 0.5\n");
        assert_eq!(findings, Findings::default());
        assert!(page.contains("| C001 | a/b | `x < y` | `X() < Y()` | equal | holds |"), "{page}");
        let second = "| `abs(X()) < Y() in at least 0.5 of the repetitions` | differs: on means |";
        assert!(page.contains(second), "{page}");
        assert!(page.contains("| C002 | a/c | `\\|x\\| < y` |"), "{page}");
        assert!(page.contains("| C003 | a/d | `z = 0` |  | not tested here |  |"), "{page}");
        assert!(
            page.contains("| tested here | 2 |")
                && page.contains(
                    "| hold in the recorded run | 1 |\n| of them by a test equal to the catalogue's | 1 |"
                ),
            "{page}"
        );
    }

    #[test]
    fn a_test_says_whether_it_is_the_catalogues() {
        let (_, findings) = of("[[claim]]\nid = \"C001\"\ntest = \"X() < Y()\"\n");
        assert!(findings.errors.len() == 1 && findings.errors[0].contains("lacks `letter`"), "{findings:?}");
        let (page, findings) = of("[[claim]]\nid = \"C001\"\nuntestable = \"real time\"\n");
        assert!(findings.errors.is_empty() && page.contains("| tested here | 0 |"), "{page}");
        assert!(page.contains("| C001 | a/b | `x < y` | real time | not in `reproduce` |"), "{page}");
    }

    #[test]
    fn a_test_of_no_stated_claim_is_an_error() {
        let (_, findings) = of("[[claim]]\nid = \"C009\"\ntest = \"X() < 1\"\n");
        assert_eq!(findings.errors.len(), 1, "{findings:?}");
    }
}
