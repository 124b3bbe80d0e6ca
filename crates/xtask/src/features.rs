//! Feature catalogue, `docs/features.toml`: reader of ids, names, how a user reaches a feature, and missing
//! parts; search for ids in text.

use std::collections::BTreeMap;

/// Value of `reach` for a feature that is not built.
pub(crate) const NOT_YET: &str = "not yet";

/// Keys of an entry.
const KEYS: &[&str] = &["name", "reach", "note", "partly"];

/// One feature of the catalogue.
#[derive(Debug, PartialEq)]
pub(crate) struct Feature {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Scenario keys, options or verbs; [`NOT_YET`] if there are none.
    pub(crate) reach: String,
    /// Remark that does not restrict the feature.
    pub(crate) note: String,
    /// Missing part of the feature; empty if it is complete.
    pub(crate) partly: String,
}

impl Feature {
    /// True if a user can use the feature.
    pub(crate) fn reachable(&self) -> bool {
        self.reach != NOT_YET
    }
    /// Letters of the feature's id.
    pub(crate) fn group(&self) -> &str {
        group(&self.id)
    }
}

/// Letters of an id.
pub(crate) fn group(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}

/// The catalogue: groups and features in the order of the file.
#[derive(Debug)]
pub(crate) struct Features {
    pub(crate) groups: Vec<(String, String)>,
    pub(crate) all: Vec<Feature>,
}

impl Features {
    /// True if a feature has this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.all.iter().any(|f| f.id == id)
    }
    /// True if a group has these letters.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.groups.iter().any(|(g, _)| g == group)
    }
}

/// Reads the data file.
pub(crate) fn read(text: &str) -> Result<Features, String> {
    let file = "docs/features.toml";
    let table: toml::Table = text.parse().map_err(|e| format!("{file}: {e}"))?;
    let part = |key: &str| {
        let found = table.get(key).and_then(toml::Value::as_table);
        found.ok_or_else(|| format!("{file}: there is no [{key}]"))
    };
    let mut groups = Vec::new();
    for (id, name) in part("groups")? {
        let name = name.as_str().ok_or_else(|| format!("{file}: the name of {id} is not a text"))?;
        groups.push((id.clone(), name.to_owned()));
    }
    let mut all = Vec::new();
    for (id, value) in part("features")? {
        if ids(id) != [id.as_str()] {
            return Err(format!("{file}: `{id}` is not an id like NS-04"));
        }
        let text = |key: &str| value.get(key).and_then(toml::Value::as_str).map(|s| s.trim().to_owned());
        let missing = |key: &str| format!("{file}: {id} has no {key}");
        if let Some(key) = value.as_table().and_then(|t| t.keys().find(|k| !KEYS.contains(&k.as_str()))) {
            return Err(format!("{file}: {id} has a key `{key}`, which is none of {}", KEYS.join(", ")));
        }
        if value.get("partly").is_some() && text("partly").is_none_or(|s| s.is_empty()) {
            return Err(format!("{file}: {id} is `partly` without saying what is missing"));
        }
        if value.get("partly").is_some() && text("reach").is_some_and(|s| s == NOT_YET) {
            return Err(format!("{file}: {id} is `partly` there and cannot be reached"));
        }
        all.push(Feature {
            id: id.clone(),
            name: text("name").filter(|s| !s.is_empty()).ok_or_else(|| missing("name"))?,
            reach: text("reach").filter(|s| !s.is_empty()).ok_or_else(|| missing("reach"))?,
            note: text("note").unwrap_or_default(),
            partly: text("partly").unwrap_or_default(),
        });
    }
    let known: BTreeMap<&str, ()> = groups.iter().map(|(id, _)| (id.as_str(), ())).collect();
    match all.iter().find(|f| !known.contains_key(f.group())) {
        Some(f) => Err(format!("{file}: the group of {} has no name", f.id)),
        None => Ok(Features { groups, all }),
    }
}

/// Ids in a text, in order: two capitals, a hyphen, two digits, as a whole word.
pub(crate) fn ids(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_word = |i: usize| bytes.get(i).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut out = Vec::new();
    for (i, window) in bytes.windows(5).enumerate() {
        let shaped = window[..2].iter().all(u8::is_ascii_uppercase)
            && window[2] == b'-'
            && window[3..].iter().all(u8::is_ascii_digit);
        let alone = !is_word(i + 5) && !i.checked_sub(1).is_some_and(|at| is_word(at) || bytes[at] == b'-');
        if shaped && alone {
            out.push(&text[i..i + 5]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_alone() {
        assert_eq!(ids("NS-04, (SW-31) \"QM-01\""), ["NS-04", "SW-31", "QM-01"]);
        assert_eq!(ids("XNS-04 NS-041 A-NS-04 ns-04 NS-4 NS_04"), [""; 0]);
        assert_eq!(ids("é NS-04é"), ["NS-04"]);
        assert_eq!(ids("NS-0"), [""; 0]);
    }

    #[test]
    fn a_data_file_is_read() {
        let features = read(
            "[groups]\nNS = \"Simulation\"\n[features]\n\
             NS-04 = { name = \"Spikes\", reach = \"`gate`\", note = \"n\" }\nNS-05 = { name = \"One\", reach = \"not yet\" }\n",
        )
        .unwrap();
        assert!(features.has("NS-04") && !features.has("NS-06") && features.has_group("NS"));
        assert_eq!(features.all[0].note, "n");
        assert!(features.all[0].reachable() && !features.all[1].reachable());
    }

    #[test]
    fn what_is_wrong_with_a_data_file_is_said() {
        let wrong =
            |features: &str| read(&format!("[groups]\nNS = \"S\"\n[features]\n{features}")).unwrap_err();
        assert!(wrong("NS-04 = { reach = \"x\" }").contains("NS-04 has no name"));
        assert!(wrong("NS-04 = { name = \"x\", reach = \"\" }").contains("NS-04 has no reach"));
        assert!(wrong("XX-04 = { name = \"x\", reach = \"x\" }").contains("the group of XX-04"));
        assert!(wrong("NS4 = { name = \"x\", reach = \"x\" }").contains("not an id"));
        assert!(wrong("NS-04 = { name = \"x\", reach = \"x\", parts = \"x\" }").contains("a key `parts`"));
        assert!(wrong("NS-04 = { name = \"x\", reach = \"x\", partly = \"\" }").contains("without saying"));
        assert!(
            wrong("NS-04 = { name = \"x\", reach = \"not yet\", partly = \"y\" }")
                .contains("cannot be reached")
        );
        assert!(read("x = 1").unwrap_err().contains("there is no [groups]"));
    }
}
