//! TCP options, whole and cut at every byte: what was read before the cut stays.

use slowpath_wire::tcp::Options;

pub fn try_input(data: &[u8]) {
    let data = &data[..data.len().min(40)];
    let whole = Options::parse(data, false);
    assert!(whole.sack_edges().count() <= 4);
    for length in 0..data.len() {
        let cut = Options::parse(&data[..length], true);
        assert!(cut.mss.is_none() || whole.mss.is_some());
        assert!(cut.timestamps.is_none() || whole.timestamps.is_some());
        assert!(cut.window_scale.is_none() || whole.window_scale.is_some());
        assert!(cut.sack.is_empty() || !whole.sack.is_empty());
    }
}
