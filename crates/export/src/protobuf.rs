//! Protocol buffers, as far as they are written here: fields of numbers, bytes and messages.

/// A message that is being written.
#[derive(Debug, Default, Clone)]
pub(crate) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    /// The bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A number; negative ones as 64 bits, as `int64` has them.
    pub(crate) fn number(&mut self, field: u64, value: i64) -> &mut Message {
        self.varint(field << 3 | VARINT);
        self.varint(value.cast_unsigned());
        self
    }

    /// A text or other bytes.
    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) -> &mut Message {
        self.varint(field << 3 | BYTES);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A message within.
    pub(crate) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Message)) -> &mut Message {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0)
    }

    /// Several numbers in one field.
    pub(crate) fn packed(&mut self, field: u64, values: impl IntoIterator<Item = i64>) -> &mut Message {
        let mut inner = Message::default();
        values.into_iter().for_each(|value| inner.varint(value.cast_unsigned()));
        self.bytes(field, &inner.0)
    }

    /// A number of eight bytes.
    pub(crate) fn fixed(&mut self, field: u64, value: i64) -> &mut Message {
        self.varint(field << 3 | FIXED_64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Several such numbers in one field.
    pub(crate) fn packed_fixed(&mut self, field: u64, values: impl IntoIterator<Item = i64>) -> &mut Message {
        let bytes: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
        self.bytes(field, &bytes)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_as_the_encoding_has_them() {
        let mut message = Message::default();
        message.number(1, 150).bytes(2, b"testing").message(3, |inner| {
            inner.number(1, -1);
        });
        let expected = [
            &[0x08, 0x96, 0x01, 0x12, 7][..],
            b"testing",
            &[0x1a, 11, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ];
        assert_eq!(message.into_bytes(), expected.concat());
        let mut packed = Message::default();
        packed.packed(4, [3, 270]);
        assert_eq!(packed.into_bytes(), [0x22, 3, 3, 0x8e, 0x02]);
        let mut fixed = Message::default();
        fixed.fixed(1, 1).packed_fixed(2, [2]);
        assert_eq!(fixed.into_bytes(), [9, 1, 0, 0, 0, 0, 0, 0, 0, 0x12, 8, 2, 0, 0, 0, 0, 0, 0, 0]);
    }
}
