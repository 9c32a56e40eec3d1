//! Writes values as bytes.

use serde::{
    Serialize,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant, Serializer,
    },
};

use super::{Error, tag};

#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
}

/// A list or a map in progress. Four bytes before the items hold the length, which `finish` fills
/// in.
pub struct Collection<'a> {
    writer: &'a mut Writer,
    /// The position of these four bytes.
    at: usize,
    length: u32,
}

impl Writer {
    fn natural(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number as u8) | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn block(&mut self, tag: u8, bytes: &[u8]) {
        self.bytes.push(tag);
        self.natural(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn fields(&mut self, length: usize) -> &mut Self {
        self.bytes.push(tag::FIELDS);
        self.natural(length as u64);
        self
    }

    fn variant(&mut self, index: u32) -> &mut Self {
        self.bytes.push(tag::VARIANT);
        self.natural(u64::from(index));
        self
    }

    fn collection(&mut self, tag: u8) -> Collection<'_> {
        self.bytes.push(tag);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        Collection {
            writer: self,
            at,
            length: 0,
        }
    }
}

impl Collection<'_> {
    fn add(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.length += 1;
        value.serialize(&mut *self.writer)
    }

    fn finish(self) -> Result<(), Error> {
        let length = self.length.to_le_bytes();
        self.writer.bytes[self.at..self.at + 4].copy_from_slice(&length);
        Ok(())
    }
}

/// Defines methods that write a number as a wider type.
macro_rules! widen {
    ($($method:ident $number:ty => $wide:ident),*) => {$(
        fn $method(self, value: $number) -> Result<(), Error> {
            self.$wide(value.into())
        }
    )*};
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Collection<'a>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Collection<'a>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn is_human_readable(&self) -> bool {
        false
    }

    widen!(
        serialize_i8 i8 => serialize_i64,
        serialize_i16 i16 => serialize_i64,
        serialize_i32 i32 => serialize_i64,
        serialize_u8 u8 => serialize_u64,
        serialize_u16 u16 => serialize_u64,
        serialize_u32 u32 => serialize_u64,
        serialize_f32 f32 => serialize_f64
    );

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.bytes.push(if value { tag::TRUE } else { tag::FALSE });
        Ok(())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        match u64::try_from(value) {
            Ok(value) => self.serialize_u64(value),
            Err(_) => {
                self.bytes.push(tag::NEGATIVE);
                self.natural(!value as u64);
                Ok(())
            }
        }
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        match u8::try_from(value) {
            Ok(small) if small <= u8::MAX - tag::SMALL => self.bytes.push(tag::SMALL + small),
            _ => {
                self.bytes.push(tag::NATURAL);
                self.natural(value);
            }
        }
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.bytes.push(tag::FLOAT);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.block(tag::TEXT, value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.block(tag::BYTES, value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.bytes.push(tag::SOME);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.bytes.push(tag::NOTHING);
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
    ) -> Result<(), Error> {
        self.variant(index).serialize_unit()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self.variant(index))
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Collection<'a>, Error> {
        Ok(self.collection(tag::LIST))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self, Error> {
        Ok(self.fields(length))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Self, Error> {
        Ok(self.fields(length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        length: usize,
    ) -> Result<Self, Error> {
        Ok(self.variant(index).fields(length))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Collection<'a>, Error> {
        Ok(self.collection(tag::MAP))
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Self, Error> {
        Ok(self.fields(length))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        length: usize,
    ) -> Result<Self, Error> {
        Ok(self.variant(index).fields(length))
    }
}

impl SerializeSeq for Collection<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.add(value)
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

impl SerializeMap for Collection<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.add(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

/// Writes tuples and structs as their fields in order.
macro_rules! fields {
    ($($kind:ident $method:ident ($($name:ident)?)),*) => {$(
        impl $kind for &mut Writer {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: &'static str,)?
                value: &T,
            ) -> Result<(), Error> {
                $(let _ = $name;)?
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

fields!(
    SerializeTuple serialize_element (),
    SerializeTupleStruct serialize_field (),
    SerializeTupleVariant serialize_field (),
    SerializeStruct serialize_field (name),
    SerializeStructVariant serialize_field (name)
);
