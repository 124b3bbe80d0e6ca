//! Jain's fairness index over connections.
//!
//! Jain's index: 1 if all get the same, 1/n if one gets everything.

/// Jain's fairness index of these rates: the square of the sum over n times the sum of squares (Jain, Chiu, Hawe
/// 1984); `None` if there is nothing to compare.
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}
