//! Sysctls by their names, in scenario files and on command lines.

use crate::schema::nearest::nearest;
use slowpath_kernels::{KernelProfile, Sysctl, sysctls};

/// Why a sysctl cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SysctlError {
    /// The text has no `=`.
    #[error("{0:?}: write NAME=VALUE, such as rmem_max=16777216")]
    NoValue(String),
    /// There is no such sysctl.
    #[error("{name}: unknown sysctl; {hint}")]
    Unknown {
        /// Its name.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// The value is not one of its values.
    #[error("{name}: cannot be {value:?}; write {form}")]
    Value {
        /// Its name.
        name: &'static str,
        /// The value.
        value: String,
        /// The form of its values.
        form: String,
    },
}

/// The sysctl of this name, with or without `net.ipv4.` or `net.core.`.
///
/// # Errors
///
/// What may have been meant, if there is none.
pub fn named(name: &str) -> Result<&'static Sysctl, String> {
    Sysctl::named(name).ok_or_else(|| match nearest(name, sysctls().map(Sysctl::short_name)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`slowpath kernels --sysctls` lists them".to_owned(),
    })
}

/// Sets a sysctl of a kernel to the value in `NAME=VALUE`, as `sysctl -w` does.
///
/// # Errors
///
/// If there is no such sysctl, or it has no such value.
pub fn put(kernel: &mut KernelProfile, text: &str) -> Result<(), SysctlError> {
    let (name, value) = text.split_once('=').ok_or_else(|| SysctlError::NoValue(text.to_owned()))?;
    let (name, value) = (name.trim(), value.trim());
    let sysctl = named(name).map_err(|hint| SysctlError::Unknown { name: name.to_owned(), hint })?;
    sysctl.put(kernel, value).map_err(|error| SysctlError::Value {
        name: sysctl.name,
        value: value.to_owned(),
        form: error.form,
    })
}
