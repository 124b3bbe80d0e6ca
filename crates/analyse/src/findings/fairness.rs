//! Jain's fairness index of the rates of several connections or flows.

/// Fairness index (Jain, Chiu, Hawe 1984): squared sum over n times the sum of squares. 1 if all rates are equal, 1/n
/// if one connection has the whole rate; None if all are 0.
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}
