use super::*;
use slowpath_model::{Flags, StreamOffset, Timestamps};
