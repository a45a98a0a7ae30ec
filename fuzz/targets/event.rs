//! A line of notation: what is read is written so that it is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_model::Event;

fuzz_target!(|line: &str| {
    if let Ok(event) = line.parse::<Event>() {
        let written = event.to_string();
        assert_eq!(written.parse(), Ok(event), "{line} became {written}");
    }
});
