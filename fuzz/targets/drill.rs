//! A script in packetdrill's language: it is read or refused with a place in it, and what can be read can be run on
//! the model to its end.

use slowpath_drill::{Config, Modelled, Script, Source, run};
use slowpath_kernels::registry;
use slowpath_model::shown;

pub fn try_input(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let source = Source::new("fuzz.pkt", data);
    match Script::parse(&source, &Config::default()) {
        Ok(script) => {
            let Some(kernel) = registry::named("linux-6.18") else { return };
            let report = run(&script, &mut Modelled::new(kernel, &script.config), &|_| None);
            assert!(report.ended >= slowpath_model::Instant::START);
        }
        Err(error) => {
            assert!(error.place.line >= 1 && error.place.column >= 1);
            let text = error.to_string();
            assert!(text.contains(&*shown::line(&error.message)));
            assert_eq!(shown::hidden(&text, None), None);
        }
    }
}
