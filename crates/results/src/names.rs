//! Short names of grid keys for column heads: the shortest suffixes of scenario paths that are distinct.

/// Path components that are unclear without the component before them.
const VAGUE: &[&str] = &["down", "up", "limit", "min", "max", "initial", "adapt"];

/// Short names of the paths, in order.
pub fn short(paths: &[&str]) -> Vec<String> {
    let split: Vec<Vec<&str>> = paths.iter().map(|path| path.split('.').collect()).collect();
    let tail = |path: &[&str], n: usize| path[path.len().saturating_sub(n)..].join(".");
    let name = |path: &Vec<&str>| {
        let vague = path.last().is_some_and(|word| VAGUE.contains(word));
        let least = if vague { 2 } else { 1 };
        let alone = |n: &usize| split.iter().filter(|other| tail(other, *n) == tail(path, *n)).count() == 1;
        let n = (least..=path.len()).find(alone).unwrap_or(path.len());
        tail(path, n)
    };
    split.iter().map(name).collect()
}
