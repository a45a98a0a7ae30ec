//! The Linux kernel's TCP without its I/O.
