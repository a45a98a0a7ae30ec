//! A scenario file, its lines that begin with `--set ` being overrides: it is a scenario with an estimate and settings to
//! explain, or its errors can be shown.

use slowpath_model::shown;
use slowpath_scenario::{Estimate, Override, check};

pub fn try_input(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let (overrides, lines): (Vec<&str>, Vec<&str>) =
        data.lines().partition(|line| line.starts_with("--set "));
    let overrides: Vec<Override> =
        overrides.iter().filter_map(|line| line.trim_start_matches("--set ").parse().ok()).collect();
    match check("fuzz.toml", &lines.join("\n"), &overrides, None) {
        Ok(checked) => {
            assert!(Estimate::of(&checked.scenario).is_sane().is_ok());
            assert!(!checked.settings.is_empty());
            assert!(checked.settings.iter().all(|setting| !setting.key.is_empty()));
        }
        Err(rejected) => {
            let text = rejected.to_string();
            assert!(text.contains("error: "));
            assert_eq!(shown::hidden(&text, None), None);
            assert!(!rejected.findings().is_empty());
        }
    }
}
