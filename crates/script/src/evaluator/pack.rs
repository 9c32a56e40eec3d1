//! A serde format for fast reading: an evaluator is restored for every request, and the engine's
//! own format spends most of its time on the names of fields.
//!
//! Structs are written as their fields in order, variants as their number. Every value has a tag
//! for its kind, because some types of the engine can only be read with a tag. Structs inside
//! untagged enums are not supported; an idle engine has none. Only the binary that wrote the bytes
//! can read them. Damaged bytes give an error or a wrong value, never a panic.

mod read;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first byte of a value. A byte of at least `SMALL` is the whole value: a small number, to
/// which `SMALL` was added.
mod tag {
    pub const NOTHING: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const NATURAL: u8 = 3;
    /// The bitwise complement of a negative number.
    pub const NEGATIVE: u8 = 4;
    pub const FLOAT: u8 = 5;
    pub const TEXT: u8 = 6;
    pub const BYTES: u8 = 7;
    /// Four bytes of length, then the items.
    pub const LIST: u8 = 8;
    /// Four bytes of length, then keys and values.
    pub const MAP: u8 = 9;
    pub const SOME: u8 = 10;
    /// The variant's number, then one value.
    pub const VARIANT: u8 = 11;
    /// A length, then the fields.
    pub const FIELDS: u8 = 12;
    pub const SMALL: u8 = 0x40;
}

pub fn pack(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut writer = write::Writer::default();
    value.serialize(&mut writer)?;
    Ok(writer.bytes)
}

pub fn unpack<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut reader = read::Reader { rest: bytes };
    let value = T::deserialize(&mut reader)?;
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(Error::new("bytes follow the value"))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<str>);

impl Error {
    fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string().into())
    }
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message)
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Everything {
        numbers: (u8, u64, i8, i64, f64, char),
        texts: Vec<String>,
        #[serde(skip)]
        left_out: u32,
        option: Option<Option<bool>>,
        shapes: [Shape; 4],
        map: BTreeMap<String, Vec<u16>>,
        either: [Either; 3],
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    enum Shape {
        Unit,
        Newtype(u32),
        Tuple(u32, String),
        Struct { x: i32, y: Option<Box<Shape>> },
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u32),
        Text(String),
        Shape(Shape),
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Inner {
        a: u8,
        b: Shape,
    }

    fn everything() -> Everything {
        Everything {
            numbers: (191, u64::MAX, -128, i64::MIN, -0.5, 'ä'),
            texts: vec![String::new(), "naïve".to_owned(), "x".repeat(300)],
            left_out: 0,
            option: Some(None),
            shapes: [
                Shape::Unit,
                Shape::Newtype(7),
                Shape::Tuple(192, "t".to_owned()),
                Shape::Struct {
                    x: -1,
                    y: Some(Box::new(Shape::Unit)),
                },
            ],
            map: BTreeMap::from([("k".to_owned(), vec![1, 65_535])]),
            either: [
                Either::Number(3),
                Either::Text("three".to_owned()),
                Either::Shape(Shape::Unit),
            ],
            inner: Inner {
                a: 9,
                b: Shape::Tuple(1, String::new()),
            },
        }
    }

    #[test]
    fn every_kind_of_value_survives_packing() {
        let bytes = pack(&everything()).expect("packed");
        assert_eq!(
            unpack::<Everything>(&bytes).expect("unpacked"),
            everything()
        );
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let bytes = pack(&everything()).expect("packed");
        for cut in 0..bytes.len() {
            assert!(unpack::<Everything>(&bytes[..cut]).is_err(), "{cut}");
        }
        for at in 0..bytes.len() {
            for wrong in [0, 8, 9, 11, 12, 0x3f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                let _ = unpack::<Everything>(&bytes);
            }
        }
        let mut more = bytes;
        more.push(0);
        assert!(unpack::<Everything>(&more).is_err());
    }
}
