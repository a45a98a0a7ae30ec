//! JSON versions of types of other crates.

/// Declares JSON types with the fields or variants of another crate's type, each with the description for the schema. A
/// field or variant that is missing in the declaration does not compile. `=> each` and similar convert fields with
/// several values.
macro_rules! mirrored {
    () => {};
    (
        $(#[$docs:meta])* struct $Name:ident of $Of:path {
            $($(#[$field_docs:meta])* $field:ident: $Type:ty $(=> $by:path)?,)*
        }
        $($rest:tt)*
    ) => {
        $(#[$docs])*
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        pub(crate) struct $Name {
            $($(#[$field_docs])* $field: $Type,)*
        }

        impl From<$Of> for $Name {
            fn from(of: $Of) -> Self {
                let $Of { $($field),* } = of;
                Self { $($field: $crate::mirror::mirrored!(@ $field $($by)?)),* }
            }
        }

        $crate::mirror::mirrored! { $($rest)* }
    };
    (
        $(#[$docs:meta])* enum $Name:ident of $Of:path {
            $($(#[$variant_docs:meta])* $variant:ident,)*
        }
        $($rest:tt)*
    ) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum $Name {
            $($(#[$variant_docs])* $variant,)*
        }

        impl From<$Of> for $Name {
            fn from(of: $Of) -> Self {
                use $Of as Of;
                match of {
                    $(Of::$variant => Self::$variant),*
                }
            }
        }

        $crate::mirror::mirrored! { $($rest)* }
    };
    (@ $field:ident) => { $field.into() };
    (@ $field:ident $by:path) => { $by($field) };
}

pub(crate) use mirrored;

/// Converts all elements.
pub(crate) fn each<A, B: From<A>>(all: Vec<A>) -> Vec<B> {
    all.into_iter().map(B::from).collect()
}

/// Converts an optional value.
pub(crate) fn one<A, B: From<A>>(one: Option<A>) -> Option<B> {
    one.map(B::from)
}
