//! Serde for the model's units in configurations: whole numbers, with the unit in the key.

/// Declares a module for `#[serde(with)]`.
macro_rules! serde_unit {
    ($(#[$doc:meta])* $name:ident: $type:ty, $number:expr, $value:expr) => {
        $(#[$doc])*
        pub mod $name {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub fn serialize<S: Serializer>(value: &$type, to: S) -> Result<S::Ok, S::Error> {
                $number(*value).serialize(to)
            }

            pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<$type, D::Error> {
                Deserialize::deserialize(from).map($value)
            }
        }
    };
}

serde_unit!(
    /// A rate in bits per second.
    bit_per_s: slowpath_model::Rate,
    slowpath_model::Rate::get,
    slowpath_model::Rate::bits_per_second
);
serde_unit!(
    /// An amount in bytes.
    bytes: slowpath_model::Bytes,
    slowpath_model::Bytes::get,
    slowpath_model::Bytes::new
);
serde_unit!(
    /// A time in nanoseconds.
    ns: std::time::Duration,
    slowpath_model::nanos,
    std::time::Duration::from_nanos
);
serde_unit!(
    /// A time in nanoseconds, if there is one.
    maybe_ns: Option<std::time::Duration>,
    |time: Option<_>| time.map(slowpath_model::nanos),
    |nanos: Option<u64>| nanos.map(std::time::Duration::from_nanos)
);
