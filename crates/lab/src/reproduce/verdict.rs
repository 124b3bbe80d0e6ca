//! Verdicts on claims: by means, by label combinations, or by share of repetitions; explanation of failed
//! comparisons.
//!
//! A failed claim is explained if every failing comparison has a reason, and both sides of the comparison are still
//! near the values for which the reason was written.

use super::claim::{self, Cells, Comparison, Side};
use super::experiment::{Claim, Claims, Experiment};
use super::grid::{Grid, View};
use super::value::near;
use super::{ClaimResult, ReproduceError, Untested};

/// Upper bound of failing comparisons that a text lists.
const SHOWN: usize = 4;
/// Relative tolerance of a side around its explained value.
const NEAR: f64 = 0.01;

/// Judges the claims of one experiment.
pub(super) fn claims(
    experiment: &Experiment,
    claims: &Claims,
    grid: &Grid,
) -> Result<(Vec<ClaimResult>, Vec<Untested>), ReproduceError> {
    let view = View { grid, quantity: &claims.quantity };
    let others = grid.others(experiment);
    let (mut all, mut untested) = (Vec::new(), Vec::new());
    for c in claims.claim.iter().filter(|c| c.experiment == experiment.id) {
        if let Some(why) = &c.untestable {
            untested.push(Untested { id: c.id.clone(), text: c.text.clone(), why: why.clone() });
            continue;
        }
        let judged = if c.exists || c.share.is_some() {
            by_repetition(c, grid.repetitions(), others, &view)
        } else {
            by_mean(c, others, &view)
        };
        all.push(judged.map_err(|e| ReproduceError::Data(format!("{}: {e}", c.id)))?);
    }
    Ok((all, untested))
}

/// Verdict by comparisons of means: all of them hold, or enough label combinations.
fn by_mean(c: &Claim, others: Option<u32>, cells: &dyn Cells) -> Result<ClaimResult, String> {
    let over: Vec<(String, Vec<String>)> = c.over.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let made = claim::judge(&c.test, &over, cells)?;
    let failing: Vec<&Comparison> = made.iter().filter(|comparison| !comparison.holds).collect();
    let enough = |holds: &dyn Fn(&Comparison) -> bool| match c.combinations {
        None => made.iter().all(holds),
        Some(least) => combinations_that_hold(&made, holds) >= least,
    };
    let holds = enough(&|comparison| comparison.holds);
    Ok(ClaimResult {
        former: enough(&Comparison::former),
        detail: detail(c, &made, &failing, holds),
        why: if holds { None } else { reasons(c, &failing, others) },
        ..ClaimResult::new(c, holds)
    })
}

/// Number of label combinations for which all comparisons hold.
fn combinations_that_hold(made: &[Comparison], holds: &dyn Fn(&Comparison) -> bool) -> usize {
    made.chunk_by(|a, b| a.labels == b.labels).filter(|group| group.iter().all(holds)).count()
}

/// Verdict by the share of repetitions in which the test holds.
fn by_repetition(
    c: &Claim,
    repetitions: usize,
    others: Option<u32>,
    cells: &dyn Cells,
) -> Result<ClaimResult, String> {
    let found = claim::witnesses(&c.test, repetitions, cells).map_err(|e| e.to_string())?;
    let share = found.len() as f64 / repetitions.max(1) as f64;
    let needed = c.share.unwrap_or(0.0);
    let holds = share >= needed && !found.is_empty();
    let first = found.first().map_or_else(String::new, |i| format!(", the first of them {i}"));
    let least = if needed > 0.0 { format!(" (at least {needed} of them)") } else { String::new() };
    let side = |mean: f64, spread| Side { mean, spread };
    // Standard deviation of a binomial share.
    let spread = Some(((share * (1.0 - share)).sqrt(), repetitions as u64));
    let made = Comparison {
        labels: String::new(),
        number: 1,
        left: side(share, spread),
        sign: ">=",
        right: side(needed, None),
        holds,
        p: None,
    };
    Ok(ClaimResult {
        former: !found.is_empty(),
        detail: format!("in {} of {repetitions} repetitions{least}{first}", found.len()),
        why: if holds { None } else { reasons(c, &[&made], others) },
        witness: found.first().map(|i| *i as u64),
        ..ClaimResult::new(c, holds)
    })
}

/// Reasons of all failing comparisons; `None` if a comparison has no reason, or values other than those of its
/// reason.
fn reasons(c: &Claim, failing: &[&Comparison], others: Option<u32>) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for comparison in failing {
        let known = c.differs.iter().find(|known| {
            let is = |explained: f64, side: &Side| {
                near(explained, side.mean, NEAR * explained.abs(), side.spread, others)
            };
            known.labels == comparison.labels
                && known.comparison == comparison.number
                && is(known.left, &comparison.left)
                && is(known.right, &comparison.right)
        })?;
        if !all.contains(&known.why.as_str()) {
            all.push(&known.why);
        }
    }
    (!all.is_empty()).then(|| all.join("; "))
}

fn detail(c: &Claim, made: &[Comparison], failing: &[&Comparison], holds: bool) -> String {
    let text = |all: &[&Comparison]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if !holds {
        let more = failing.len().saturating_sub(SHOWN);
        let numbered =
            failing.iter().take(SHOWN).map(|comparison| format!("no. {}, {comparison}", comparison.number));
        let shown = numbered.collect::<Vec<_>>().join("; ");
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        return format!("{} of {} comparisons fail: {shown}{more}", failing.len(), made.len());
    }
    let all: Vec<&Comparison> = made.iter().collect();
    let but = match (c.combinations, failing) {
        (Some(_), [_, ..]) => format!("; not {}", text(failing)),
        _ => String::new(),
    };
    if made.len() > 3 {
        format!("{} comparisons, such as {}{but}", made.len() - failing.len(), made[0])
    } else {
        format!("{}{but}", text(&all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantity whose value is the label of the cell.
    struct Plain;
    impl Cells for Plain {
        fn values(&self, _: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
            let labels: Vec<f64> = labels.iter().map(|l| l.parse().unwrap()).collect();
            Ok(labels.iter().map(|l| Some(*l)).collect())
        }
    }

    fn claim(text: &str) -> Claim {
        toml::from_str(&format!("id = \"C1\"\nexperiment = \"a/b\"\ntext = \"t\"\n{text}")).unwrap()
    }

    #[test]
    fn a_failing_comparison_needs_its_own_reason_with_its_values() {
        let test = "test = \"X(1) < X(2); X(5) <= X(4); X(7) <= X(6)\"\n";
        let second = "[[differs]]\ncomparison = 2\nleft = 5\nright = 4\nwhy = \"second\"\n";
        let third = "[[differs]]\ncomparison = 3\nleft = 7\nright = 6\nwhy = \"third\"\n";
        let judged = |text: String| by_mean(&claim(&text), None, &Plain).unwrap();
        assert!(judged(format!("{test}{second}")).why.is_none(), "the third has no reason");
        assert_eq!(judged(format!("{test}{second}{third}")).why.as_deref(), Some("second; third"));
        let moved = third.replace("left = 7", "left = 9");
        assert!(judged(format!("{test}{second}{moved}")).why.is_none(), "9 was explained, 7 is there");
        let text = judged(test.to_owned()).detail;
        assert_eq!(text, "2 of 3 comparisons fail: no. 2, 5.0 <= 4.0; no. 3, 7.0 <= 6.0");
    }

    #[test]
    fn most_combinations_can_be_enough() {
        let text = "test = \"X(x) < 3\"\nfor = { x = [\"1\", \"2\", \"4\"] }\n";
        assert!(!by_mean(&claim(text), None, &Plain).unwrap().holds);
        assert!(by_mean(&claim(&format!("{text}combinations = 2\n")), None, &Plain).unwrap().holds);
    }

    #[test]
    fn a_share_of_the_repetitions_is_counted() {
        let text = "test = \"X(1,2,3,4) >= 3\"\n";
        let with = |key: &str| by_repetition(&claim(&format!("{text}{key}\n")), 4, None, &Plain).unwrap();
        assert!(with("exists = true").holds && with("share = 0.5").holds);
        let few = with("share = 0.6");
        assert!(!few.holds && few.former && few.witness == Some(2), "{few:?}");
        assert_eq!(few.detail, "in 2 of 4 repetitions (at least 0.6 of them), the first of them 2");
    }
}
