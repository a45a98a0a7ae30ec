//! One verdict of two recordings.
