//! Kernels as tables of choices.
