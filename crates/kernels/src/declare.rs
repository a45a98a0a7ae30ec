//! How a choice is declared: once, with everything that slowpath knows of it.
//!
//! `declare!` takes a part of [`KernelProfile`], such as the receive path, and the declaration of each of its fields.
//! From that it derives the struct (where this crate owns it), the value of each kernel, the text of the values, and the
//! rows of [`choices`](crate::choice::choices) and [`sysctls`](crate::sysctls::sysctls). A field without a declaration
//! does not compile. `kernels: [A, Linux2_6_14 => B]` reads: A in the oldest kernel, B since 2.6.14.

use crate::choice::Choice;
use crate::profile::KernelProfile;
use crate::registry::Release;
use crate::sysctls::Sysctl;
use crate::value::Value;

/// A part of a kernel's profile whose fields are declared.
pub trait Part: Sized {
    /// Its choices, in the order of their declaration.
    const CHOICES: &'static [Choice];
    /// Its fields that are sysctls and no choices.
    const SYSCTLS: &'static [Sysctl];

    /// What a kernel has.
    fn of_release(release: Release) -> Self;

    /// This part of a profile.
    fn of(kernel: &KernelProfile) -> &Self;

    /// This part of a profile, to be changed.
    fn of_mut(kernel: &mut KernelProfile) -> &mut Self;
}

/// The form of the values of a field, by its type.
pub fn form_of<T: Value>(_field: fn(&KernelProfile) -> &T) -> String {
    T::form()
}

/// Puts a value, if there is one, where it belongs.
pub fn put<T>(place: &mut T, value: Option<T>) -> bool {
    let is_one = value.is_some();
    if let Some(value) = value {
        *place = value;
    }
    is_one
}

/// Declares the fields of a part of [`KernelProfile`]: see this file's documentation.
///
/// `own` also makes the struct; `foreign` is for structs of `slowpath-tcp`. `parts` are fields that are declared
/// elsewhere.
macro_rules! declare {
    (
        $(#[$docs:meta])*
        $owner:ident $Part:ident at ($($path:tt)*), of $release:ident;
        parts { $($(#[$part_docs:meta])* $part:ident: $part_type:ty = $part_value:expr;)* }
        choices {
            $($field:ident: $type:ty = {
                name: $name:literal, subject: $subject:expr,
                $(values: { $($text:literal => $variant:ident),+ $(,)? },)?
                $(range: $least:literal..=$most:literal,)?
                meaning: $meaning:literal,
                source: $source:literal,
                $(sysctl: $kind:ident $sysctl:literal $(in $unit:ident)?,)?
                kernels: [$first:expr $(, $since:ident => $value:expr)* $(,)?],
            };)*
        }
        sysctls {
            $($set:ident: $set_type:ty = $set_kind:ident $set_name:literal $(in $set_unit:ident)?,
                [$set_first:expr $(, $set_since:ident => $set_value:expr)* $(,)?];)*
        }
    ) => {
        part_struct! {
            $owner $(#[$docs])* $Part {
                $($(#[$part_docs])* $part: $part_type,)*
                $(#[doc = $meaning] $field: $type,)*
                $(#[doc = concat!("`", $set_name, "`")] $set: $set_type,)*
            }
        }

        $($(named!($type: $($text => Self::$variant),+);)?)*

        impl $crate::declare::Part for $Part {
            const CHOICES: &'static [$crate::choice::Choice] = &[
                $($crate::choice::Choice {
                    name: $name,
                    subject: $subject,
                    meaning: $meaning,
                    source: $source,
                    sysctl: optional_sysctl!($Part.$field ($($least..=$most)?) $($kind $sysctl $($unit)?)?),
                    text: field_text!($Part.$field ($($least..=$most)?)),
                },)*
            ];
            const SYSCTLS: &'static [$crate::sysctls::Sysctl] =
                &[$(sysctl!($Part.$set () $set_kind $set_name $($set_unit)?)),*];

            fn of_release($release: $crate::registry::Release) -> Self {
                use $crate::registry::Release::*;
                Self {
                    $($part: $part_value,)*
                    $($field: $release.pick($first, &[$(($since, $value)),*]),)*
                    $($set: $release.pick($set_first, &[$(($set_since, $set_value)),*]),)*
                }
            }

            fn of(kernel: &$crate::profile::KernelProfile) -> &Self {
                &(*kernel) $($path)*
            }

            fn of_mut(kernel: &mut $crate::profile::KernelProfile) -> &mut Self {
                &mut (*kernel) $($path)*
            }
        }
    };
}

/// The struct of a part that this crate owns.
macro_rules! part_struct {
    (own $(#[$docs:meta])* $Part:ident { $($(#[$field_docs:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Part {
            $($(#[$field_docs])* pub $field: $type,)*
        }
    };
    (foreign $($other:tt)*) => {};
}

/// How a field is read and written as text; a number may have a range.
macro_rules! field_text {
    ($Part:ident.$field:ident ()) => {
        $crate::value::FieldText {
            form: || $crate::declare::form_of(|kernel| &$Part::of(kernel).$field),
            get: |kernel| $crate::value::Value::write(&$Part::of(kernel).$field),
            set: |kernel, text| {
                $crate::declare::put(&mut $Part::of_mut(kernel).$field, $crate::value::Value::read(text))
            },
        }
    };
    ($Part:ident.$field:ident ($least:literal..=$most:literal)) => {
        $crate::value::FieldText {
            form: || concat!("a whole number from ", $least, " to ", $most).to_owned(),
            get: |kernel| $crate::value::Value::write(&$Part::of(kernel).$field),
            set: |kernel, text| {
                let value = $crate::value::Value::read(text).filter(|value| ($least..=$most).contains(value));
                $crate::declare::put(&mut $Part::of_mut(kernel).$field, value)
            },
        }
    };
}

/// A sysctl: its `value` as text, a `switch` that is 0 or 1, or a `time`, a whole number of the kernel's unit.
macro_rules! sysctl {
    ($Part:ident.$field:ident $range:tt value $name:literal) => {
        $crate::sysctls::Sysctl { name: $name, text: field_text!($Part.$field $range) }
    };
    ($Part:ident.$field:ident () switch $name:literal) => {
        $crate::sysctls::Sysctl {
            name: $name,
            text: $crate::value::FieldText {
                form: || "0 or 1".to_owned(),
                get: |kernel| u8::from($Part::of(kernel).$field).to_string(),
                set: |kernel, text| {
                    let value = matches!(text, "0" | "1").then_some(text == "1");
                    $crate::declare::put(&mut $Part::of_mut(kernel).$field, value)
                },
            },
        }
    };
    ($Part:ident.$field:ident () time $name:literal $unit:ident) => {
        $crate::sysctls::Sysctl {
            name: $name,
            text: $crate::value::FieldText {
                form: || concat!("a whole number of ", stringify!($unit), "s").to_lowercase(),
                get: |kernel| ($Part::of(kernel).$field.as_nanos() / $crate::sysctls::$unit).to_string(),
                set: |kernel, text| {
                    let value = $crate::sysctls::time(text, $crate::sysctls::$unit);
                    $crate::declare::put(&mut $Part::of_mut(kernel).$field, value)
                },
            },
        }
    };
}

/// The sysctl of a choice, if it has one.
macro_rules! optional_sysctl {
    ($Part:ident.$field:ident $range:tt) => { None };
    ($($sysctl:tt)+) => { Some(sysctl!($($sysctl)+)) };
}
