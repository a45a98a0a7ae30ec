//! One colour and one letter per limit.
//!
//! The colours are those of Okabe and Ito (*Color universal design*, 2008), as close as the 256-colour palette allows,
//! which can be distinguished with all common kinds of colour vision. The letters serve where there is no colour.

use anstyle::{Ansi256Color, Color};
use slowpath_analyses::Limit;

/// The colour of a limit.
pub(crate) fn colour(limit: Limit) -> Color {
    Color::Ansi256(Ansi256Color(colour_index(limit)))
}

/// The colour of a limit, by its number in the palette of 256.
pub fn colour_index(limit: Limit) -> u8 {
    match limit {
        Limit::Connection => 81,          // sky blue
        Limit::Application => 246,        // grey: not the transport's time
        Limit::SendBuffer => 175,         // reddish purple
        Limit::SendingHost => 137,        // brown
        Limit::ReceiveWindow => 214,      // orange
        Limit::ReceiverProcessing => 227, // yellow
        Limit::CongestionWindow => 32,    // blue
        Limit::LossRecovery => 166,       // vermillion
        Limit::Path => 36,                // bluish green: the good case
        Limit::Unknown => 240,            // dark grey
    }
}

/// The letter of a limit, where there is no colour.
pub fn letter(limit: Limit) -> char {
    match limit {
        Limit::Connection => 'o',
        Limit::Application => 'a',
        Limit::SendBuffer => 'S',
        Limit::SendingHost => 'H',
        Limit::ReceiveWindow => 'R',
        Limit::ReceiverProcessing => 'P',
        Limit::CongestionWindow => 'C',
        Limit::LossRecovery => 'L',
        Limit::Path => '=',
        Limit::Unknown => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_limit_has_a_unique_letter_and_colour() {
        assert_eq!(Limit::ALL.map(letter).into_iter().collect::<HashSet<_>>().len(), Limit::ALL.len());
        assert_eq!(Limit::ALL.map(colour).into_iter().collect::<HashSet<_>>().len(), Limit::ALL.len());
    }
}
