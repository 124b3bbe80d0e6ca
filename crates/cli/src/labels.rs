//! How are a grid's keys and values called where room is short? By the last parts of their paths,
//! as many as tell them apart: `flow.download.transport.tcp.recovery` is `recovery`.

/// Words that say little without the part before them.
const VAGUE: &[&str] = &["down", "up", "limit", "min", "max", "initial", "adapt"];

/// Short names of the keys, in the same order. A key may be several paths joined by commas.
pub(crate) fn short(keys: &[&str]) -> Vec<String> {
    let paths: Vec<Vec<&str>> =
        keys.iter().flat_map(|key| key.split(',')).map(|path| path.trim().split('.').collect()).collect();
    let tail = |path: &[&str], n: usize| path[path.len().saturating_sub(n)..].join(".");
    let name = |path: &[&str]| {
        let vague = path.last().is_some_and(|word| VAGUE.contains(word));
        let least = if vague { 2 } else { 1 };
        let alone = |n: &usize| paths.iter().filter(|other| tail(other, *n) == tail(path, *n)).count() == 1;
        let n = (least..=path.len()).find(alone).unwrap_or(path.len());
        tail(path, n)
    };
    keys.iter()
        .map(|key| {
            let parts = key.split(',').map(|path| name(&path.trim().split('.').collect::<Vec<_>>()));
            parts.collect::<Vec<_>>().join(", ")
        })
        .collect()
}

/// A value of the grid without the brackets and quotes of a list.
pub(crate) fn value(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Array(list)) => {
            list.iter().map(lab::sweep::plain).collect::<Vec<_>>().join(", ")
        }
        _ => text.to_owned(),
    }
}

/// `recovery = reno, spurious = none`; empty without a grid.
pub(crate) fn cell(params: &[(String, String)]) -> String {
    let keys: Vec<&str> = params.iter().map(|(key, _)| key.as_str()).collect();
    let named = short(&keys).into_iter().zip(params);
    named.map(|(name, (_, v))| format!("{name} = {}", value(v))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_short_as_they_can_be_told_apart() {
        let keys = ["flow.a.transport.tcp.recovery", "flow.a.transport.tcp.rto.min", "hop.radio.rate.down"];
        assert_eq!(short(&keys), ["recovery", "rto.min", "rate.down"]);
        assert_eq!(short(&["flow.a.start", "flow.b.start"]), ["a.start", "b.start"]);
        assert_eq!(short(&["flow.a.start, flow.b.start"]), ["a.start, b.start"]);
        assert_eq!(short(&["run.seed", "run.seed"]), ["run.seed", "run.seed"]);
        assert_eq!(short(&[]), Vec::<String>::new());
    }

    #[test]
    fn values_that_vary_together_stand_in_a_row() {
        assert_eq!(value("[\"0 s\",\"1 s\"]"), "0 s, 1 s");
        assert_eq!(value("reno"), "reno");
        assert_eq!(value("3"), "3");
    }
}
