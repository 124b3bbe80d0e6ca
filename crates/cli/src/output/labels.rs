//! Short labels of grid cells: the last parts of each path, as many as make it unique
//! (`flow.download.transport.tcp.recovery` is `recovery`), with the value.

use serde_json::Value;

/// Short names of the paths, in the same order.
pub(crate) use results::names::short;

/// Path and value of each grid parameter of a cell; an axis of several paths, joined by commas, is split.
pub(crate) fn apart(params: &[(String, String)]) -> Vec<(&str, String)> {
    let mut out = Vec::new();
    for (key, value) in params {
        let paths: Vec<&str> = key.split(',').map(str::trim).collect();
        match serde_json::from_str::<Value>(value) {
            Ok(Value::Array(list)) if paths.len() > 1 && list.len() == paths.len() => {
                out.extend(paths.into_iter().zip(list.iter().map(lab::sweep::plain)));
            }
            _ => out.push((key.as_str(), value.clone())),
        }
    }
    out
}

/// Label of a cell: `recovery = reno, spurious = none`; empty without a grid.
pub(crate) fn cell(params: &[(String, String)]) -> String {
    let apart = apart(params);
    let paths: Vec<&str> = apart.iter().map(|(path, _)| *path).collect();
    let named = short(&paths).into_iter().zip(&apart);
    named.map(|(name, (_, value))| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_short_as_they_can_be_told_apart() {
        let keys = ["flow.a.transport.tcp.recovery", "flow.a.transport.tcp.rto.min", "hop.radio.rate.down"];
        assert_eq!(short(&keys), ["recovery", "rto.min", "rate.down"]);
        assert_eq!(short(&["flow.a.start", "flow.b.start"]), ["a.start", "b.start"]);
        assert_eq!(short(&["run.seed", "run.seed"]), ["run.seed", "run.seed"]);
        assert_eq!(short(&[]), Vec::<String>::new());
    }

    #[test]
    fn values_that_vary_together_are_taken_apart() {
        let params = [
            ("flow.a.start, flow.b.start".to_owned(), "[\"0 s\",1]".to_owned()),
            ("run.seed".to_owned(), "3".to_owned()),
        ];
        assert_eq!(cell(&params), "a.start = 0 s, b.start = 1, seed = 3");
        assert_eq!(cell(&[("a.b".to_owned(), "[1,2]".to_owned())]), "b = [1,2]");
    }
}
