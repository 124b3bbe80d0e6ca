//! Scenario templates: empty, commented starter, links with a name, published experiments.

use lab::reproduce::experiment::GROUPS;
use serde_json::{Value, json};

/// Texts to begin with: an empty scenario, the starter, a download over each preset, the published scenarios.
pub fn beginnings() -> Value {
    let presets: Vec<Value> = scenario::preset::NAMES
        .iter()
        .map(|name| json!({ "name": name, "about": scenario::preset::about(name), "text": over(name) }))
        .collect();
    let published: Vec<Value> = GROUPS
        .iter()
        .flat_map(|group| group.files.iter().map(move |(file, text)| (group.name, *file, *text)))
        .filter_map(|(group, file, text)| {
            Some((format!("{group}/{}", file.strip_suffix(".scenario.toml")?), text))
        })
        .map(|(name, text)| {
            let about = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
            json!({ "name": name, "about": about.collect::<Vec<_>>().join(" "), "text": text })
        })
        .collect();
    json!({ "starter": scenario::starter::STARTER, "empty": EMPTY, "presets": presets, "published": published })
}

/// The least that a form can be built on.
const EMPTY: &str = "williwaw = 1\ntitle = \"\"\n";

/// A download over a link with a name.
fn over(preset: &str) -> String {
    format!(
        "williwaw = 1\ntitle = \"A download over {preset}\"\n\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n\
         preset = \"{preset}\"\n\n[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\ntransport = \"tcp\"\n\
         app = {{ bulk = {{ bytes = \"300 kB\" }} }}\n\n[run]\nrepetitions = 20\nseed = 1\nlimit = \"1 h\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every template that is offered can be run, or names its requirements.
    #[test]
    fn beginnings_are_sound() {
        let all = beginnings();
        let texts = |list: &str| all[list].as_array().unwrap().clone();
        for one in texts("presets") {
            let text = one["text"].as_str().unwrap();
            assert!(scenario::read("x", text.as_bytes(), &scenario::NoFiles).is_ok(), "{}", one["name"]);
        }
        let published = texts("published");
        assert!(published.iter().any(|one| one["name"] == "seawind/case-study"));
        assert!(published.iter().all(|one| !one["text"].as_str().unwrap().is_empty()));
    }
}
