//! A line of notation: what is read is written so that it is read back.

use slowpath_model::Event;

pub fn try_input(line: &[u8]) {
    let Ok(line) = std::str::from_utf8(line) else { return };
    if let Ok(event) = line.parse::<Event>() {
        let written = event.to_string();
        assert_eq!(written.parse(), Ok(event), "{line} became {written}");
    }
}
