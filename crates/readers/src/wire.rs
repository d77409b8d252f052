//! The encoding of protocol buffers: fields of a message, one after the other. Knows no message.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number of any length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// A text, a message, or several numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A number as `int64` has it; 0 for what is none.
    pub(crate) fn int(self) -> i64 {
        match self {
            Value::Varint(value) | Value::Fixed64(value) => value.cast_signed(),
            Value::Fixed32(value) => i64::from(value),
            Value::Bytes(_) => 0,
        }
    }

    /// A place in a table.
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.int()).unwrap_or(usize::MAX)
    }

    /// The fields of a message; none of what is no message.
    pub(crate) fn fields(self) -> Fields<'a> {
        Fields::of(self.bytes())
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        if let Value::Bytes(bytes) = self { bytes } else { &[] }
    }

    pub(crate) fn text(self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The numbers of a repeated field, which may be written together or one by one.
    pub(crate) fn numbers(self) -> impl Iterator<Item = i64> + 'a {
        let (mut rest, alone) = match self {
            Value::Bytes(bytes) => (bytes, None),
            other => (&[][..], Some(other.int())),
        };
        alone.into_iter().chain(std::iter::from_fn(move || varint(&mut rest).map(u64::cast_signed)))
    }

    /// The same of numbers of eight bytes.
    pub(crate) fn fixed_numbers(self) -> impl Iterator<Item = i64> + 'a {
        let (together, alone) = match self {
            Value::Bytes(bytes) => (bytes, None),
            other => (&[][..], Some(other.int())),
        };
        alone.into_iter().chain(together.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)))
    }
}

/// The fields of a message. Ends at the first byte that makes no sense.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    whole: usize,
    rest: &'a [u8],
    /// Whether what remains is no field.
    is_damaged: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Fields<'a> {
        Fields { whole: bytes.len(), rest: bytes, is_damaged: false }
    }

    /// How many bytes were read.
    pub(crate) fn read_bytes(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// Whether the message ended in something that is no field.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// What there is of a value that is longer than the bytes there are, with its field: the end of a file's beginning.
    pub(crate) fn cut(&self) -> Option<(u32, &'a [u8])> {
        let mut rest = self.rest;
        let (field, kind) = tag(&mut rest)?;
        (kind == BYTES).then_some(())?;
        let length = varint(&mut rest)?;
        (length > rest.len() as u64).then_some((field, rest))
    }
}

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<(u32, Value<'a>)> {
        if self.rest.is_empty() || self.is_damaged {
            return None;
        }
        let mut rest = self.rest;
        let found = field(&mut rest);
        self.is_damaged = found.is_none();
        if found.is_some() {
            self.rest = rest;
        }
        found
    }
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<(u32, Value<'a>)> {
    let (field, kind) = tag(rest)?;
    let value = match kind {
        VARINT => Value::Varint(varint(rest)?),
        FIXED_64 => Value::Fixed64(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        BYTES => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Value::Bytes(take(rest, length)?)
        }
        FIXED_32 => Value::Fixed32(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?)),
        _ => return None,
    };
    Some((field, value))
}

fn tag(rest: &mut &[u8]) -> Option<(u32, u64)> {
    let tag = varint(rest)?;
    let field = u32::try_from(tag >> 3).ok().filter(|field| *field > 0)?;
    Some((field, tag & 7))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    const LONGEST: usize = 10;
    let mut value = 0_u64;
    for (nth, byte) in rest.iter().take(LONGEST).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * nth as u32).unwrap_or(0);
        if byte & 0x80 == 0 {
            *rest = &rest[nth + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_as_the_encoding_has_them() {
        let bytes = [
            &[0x08, 0x96, 0x01, 0x12, 7][..],
            b"testing",
            &[0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x25, 2, 0, 0, 0, 0x28],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ]
        .concat();
        let mut fields = Fields::of(&bytes);
        let found: Vec<_> = fields.by_ref().collect();
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"testing")),
            (3, Value::Fixed64(1)),
            (4, Value::Fixed32(2)),
            (5, Value::Varint(u64::MAX)),
        ];
        assert_eq!(found, expected);
        assert_eq!((found[4].1.int(), fields.is_damaged(), fields.read_bytes()), (-1, false, bytes.len()));
    }

    #[test]
    fn what_is_cut_ends() {
        for (bytes, read, cut) in [
            (&[0x08, 1, 0x12, 7, b't'][..], 2, Some((2, &b"t"[..]))),
            (&[0x08, 1, 0x00, 7], 2, None),
            (&[0x08, 1, 0x0f], 2, None),
            (&[0x08], 0, None),
            (&[0xff; 12], 0, None),
        ] {
            let mut fields = Fields::of(bytes);
            fields.by_ref().for_each(drop);
            assert_eq!((fields.is_damaged(), fields.read_bytes(), fields.cut()), (true, read, cut));
        }
    }

    #[test]
    fn numbers_together_or_alone() {
        let of = |value: Value<'static>| value.numbers().collect::<Vec<_>>();
        assert_eq!((of(Value::Bytes(&[3, 0x8e, 2])), of(Value::Varint(4))), (vec![3, 270], vec![4]));
        let fixed = Value::Bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(fixed.fixed_numbers().collect::<Vec<_>>(), [1]);
    }
}
