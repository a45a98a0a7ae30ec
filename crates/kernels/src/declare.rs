//! The macro that declares a choice: once, with all its properties.
//!
//! `declare!` takes a part of a kernel's profile, such as the receive path, and the declaration of each of its fields.
//! From that it derives the struct (if this crate owns it), each kernel's value, the values as text, and the rows of
//! [`choices`](crate::registry::choices) and [`sysctls`](crate::registry::sysctls). A field without a declaration does
//! not compile. `kernels: [A, Linux2_6_14 => B]` reads: A in the oldest kernel, B since 2.6.14.

use crate::choice::{Choice, Sysctl};
use crate::release::Release;
use crate::value::Value;

/// A part of a kernel's profile with declared fields. It does not know its place in a profile: see [`HasPart`].
pub trait Part: Sized + 'static {
    /// Its choices, in the order of their declaration.
    fn choices<K: HasPart<Self>>() -> &'static [Choice<K>];

    /// Its fields that are sysctls and not choices.
    fn sysctls<K: HasPart<Self>>() -> &'static [Sysctl<K>];

    /// A kernel's values.
    fn of_release(release: Release) -> Self;
}

/// A profile with a tick, which some sysctls are converted with.
pub trait HasTicks {
    /// Ticks per second.
    fn hz(&self) -> u32;
}

/// A profile that has the part `P`.
pub trait HasPart<P>: HasTicks + 'static {
    /// That part.
    fn part(&self) -> &P;

    /// That part, mutable.
    fn part_mut(&mut self) -> &mut P;
}

/// The form of a field's values, by its type.
pub fn form_of<P, T: Value>(_field: fn(&P) -> &T) -> String {
    T::form()
}

/// Stores a value, if there is one; returns whether there was.
pub fn put<T>(place: &mut T, value: Option<T>) -> bool {
    let is_one = value.is_some();
    if let Some(value) = value {
        *place = value;
    }
    is_one
}

/// Declares the fields of a part of a profile: see this file's documentation.
///
/// `own` also defines the struct; `foreign` is for structs of `slowpath-tcp`. `parts` are fields that are declared
/// elsewhere.
macro_rules! declare {
    (
        $(#[$docs:meta])*
        $owner:ident $Part:ident of $release:ident;
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
            fn choices<K: $crate::declare::HasPart<Self>>() -> &'static [$crate::choice::Choice<K>] {
                const {
                    &[$($crate::choice::Choice {
                        name: $name,
                        subject: $subject,
                        meaning: $meaning,
                        source: $source,
                        changed: &[$($crate::release::Release::$since),*],
                        sysctl: optional_sysctl!($Part.$field ($($least..=$most)?) $($kind $sysctl $($unit)?)?),
                        text: field_text!($Part.$field ($($least..=$most)?)),
                    },)*]
                }
            }

            fn sysctls<K: $crate::declare::HasPart<Self>>() -> &'static [$crate::choice::Sysctl<K>] {
                const {
                    &[$($crate::choice::Sysctl {
                        changed: &[$($crate::release::Release::$set_since),*],
                        ..sysctl!($Part.$set () $set_kind $set_name $($set_unit)?)
                    }),*]
                }
            }

            fn of_release($release: $crate::release::Release) -> Self {
                use $crate::release::Release::*;
                Self {
                    $($part: $part_value,)*
                    $($field: $release.pick($first, &[$(($since, $value)),*]),)*
                    $($set: $release.pick($set_first, &[$(($set_since, $set_value)),*]),)*
                }
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

/// How a field is converted from and to text; a number may have a range.
macro_rules! field_text {
    ($Part:ident.$field:ident ()) => {
        $crate::choice::FieldText {
            form: || $crate::declare::form_of(|part: &$Part| &part.$field),
            get: |kernel| {
                $crate::value::Value::write(&$crate::declare::HasPart::<$Part>::part(kernel).$field)
            },
            set: |kernel, text| {
                $crate::declare::put(
                    &mut $crate::declare::HasPart::<$Part>::part_mut(kernel).$field,
                    $crate::value::Value::read(text),
                )
            },
        }
    };
    ($Part:ident.$field:ident ($least:literal..=$most:literal)) => {
        $crate::choice::FieldText {
            form: || concat!("a whole number from ", $least, " to ", $most).to_owned(),
            get: |kernel| {
                $crate::value::Value::write(&$crate::declare::HasPart::<$Part>::part(kernel).$field)
            },
            set: |kernel, text| {
                let value = $crate::value::Value::read(text).filter(|value| ($least..=$most).contains(value));
                $crate::declare::put(&mut $crate::declare::HasPart::<$Part>::part_mut(kernel).$field, value)
            },
        }
    };
}

/// A sysctl: its `value` as text, a `switch` that is 0 or 1, or a `time`, a whole number of the kernel's unit.
macro_rules! sysctl {
    ($Part:ident.$field:ident $range:tt value $name:literal) => {
        $crate::choice::Sysctl { name: $name, changed: &[], text: field_text!($Part.$field $range) }
    };
    ($Part:ident.$field:ident () switch $name:literal) => {
        $crate::choice::Sysctl {
            name: $name,
            changed: &[],
            text: $crate::choice::FieldText {
                form: || "0 or 1".to_owned(),
                get: |kernel| u8::from($crate::declare::HasPart::<$Part>::part(kernel).$field).to_string(),
                set: |kernel, text| {
                    let value = matches!(text, "0" | "1").then_some(text == "1");
                    $crate::declare::put(&mut $crate::declare::HasPart::<$Part>::part_mut(kernel).$field, value)
                },
            },
        }
    };
    ($Part:ident.$field:ident () time $name:literal $unit:ident) => {
        $crate::choice::Sysctl {
            name: $name,
            changed: &[],
            text: $crate::choice::FieldText {
                form: || concat!("a whole number of ", stringify!($unit), "s").to_lowercase(),
                get: |kernel| {
                    let value = $crate::declare::HasPart::<$Part>::part(kernel).$field;
                    let time = $crate::receive::Time::time(value, $crate::declare::HasTicks::hz(kernel));
                    (time.as_nanos() / $crate::value::$unit).to_string()
                },
                set: |kernel, text| {
                    let value = $crate::value::time(text, $crate::value::$unit).map(Into::into);
                    $crate::declare::put(&mut $crate::declare::HasPart::<$Part>::part_mut(kernel).$field, value)
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
