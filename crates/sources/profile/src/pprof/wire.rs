//! The part of the protocol buffer encoding that pprof needs: varints and length-delimited fields (the encoding's
//! documentation, "Message Structure").

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }

    /// The first `most` numbers of a repeated field, packed or not.
    pub(super) fn numbers(self, into: &mut Vec<u64>, most: usize) -> Option<()> {
        match self {
            Self::Number(number) if into.len() < most => into.push(number),
            Self::Number(_) => {}
            Self::Bytes(mut bytes) => {
                while !bytes.is_empty() && into.len() < most {
                    into.push(varint(&mut bytes)?);
                }
            }
        }
        Some(())
    }
}

/// The fields of a message, until one cannot be read.
pub(super) struct Message<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Message<'a> {
    /// The next field's number and value; `Err` if the rest is not a field.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, ()> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.field().map(Some).ok_or(())
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = varint(&mut self.rest)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => Value::Number(u64::from_le_bytes(*self.take(8)?.first_chunk()?)),
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Number(u32::from_le_bytes(*self.take(4)?.first_chunk()?).into()),
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // Bits beyond the 64th are dropped, as in all decoders.
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(super) fn number(&mut self, field: u64, number: u64) {
        self.varint(field << 3);
        self.varint(number);
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn numbers(&mut self, field: u64, numbers: impl IntoIterator<Item = u64>) {
        let mut packed = Self::default();
        numbers.into_iter().for_each(|number| packed.varint(number));
        self.bytes(field, &packed.0);
    }
}
