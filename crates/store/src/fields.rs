//! The SHA-256 of a sequence of values. It includes types and lengths, so that different sequences
//! have different hashes.

use rusqlite::types::ValueRef;
use svc_crypto::Sha256;

#[derive(Default)]
pub(super) struct Fields(Sha256);

impl Fields {
    pub(super) fn value<'v>(&mut self, value: impl Into<ValueRef<'v>>) {
        match value.into() {
            ValueRef::Null => self.field(0, &[]),
            ValueRef::Integer(number) => self.field(1, &number.to_le_bytes()),
            ValueRef::Real(number) => self.field(2, &number.to_bits().to_le_bytes()),
            ValueRef::Text(text) => self.field(3, text),
            ValueRef::Blob(bytes) => self.field(4, bytes),
        }
    }

    pub(super) fn end_of_row(&mut self) {
        self.field(5, &[]);
    }

    fn field(&mut self, kind: u8, bytes: &[u8]) {
        self.0.update([kind]);
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0.finish().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn values_of_the_store_and_of_sqlite_have_the_same_hash() {
        let values = [
            Value::Null,
            Value::Int(-1),
            Value::Text("é".to_owned()),
            Value::Bytes(vec![0, 1]),
        ];
        let fields = [
            ValueRef::Null,
            ValueRef::Integer(-1),
            ValueRef::Text("é".as_bytes()),
            ValueRef::Blob(&[0, 1]),
        ];
        let (mut of_values, mut of_fields) = (Fields::default(), Fields::default());
        values.iter().for_each(|value| of_values.value(value));
        fields.into_iter().for_each(|field| of_fields.value(field));
        assert_eq!(of_values.finish(), of_fields.finish());
    }
}
