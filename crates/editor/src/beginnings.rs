//! Scenario templates of the editor as JSON: empty scenario, commented starter, a download over each link
//! preset, published experiments.

use lab::reproduce::experiment::GROUPS;
use serde_json::{Value, json};

/// Templates as JSON: empty scenario, starter, a download over each link preset, published scenarios.
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

/// Smallest scenario text on which the form can work.
const EMPTY: &str = "williwaw = 1\ntitle = \"\"\n";

/// Scenario of a download over a link preset.
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

    /// Every template is valid, or names its requirements.
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
