//! From a finding to what would give the time back.
