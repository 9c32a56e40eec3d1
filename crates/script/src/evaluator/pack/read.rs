//! Reads values from the bytes that `write` made.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
    value::{U32Deserializer, U64Deserializer},
};

use super::{Error, tag};

pub struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    fn tag(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.rest.split_first().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline]
    fn natural(&mut self) -> Result<u64, Error> {
        let first = self.tag()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.tag()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::new("a number is too long"))
    }

    fn length(&mut self) -> Result<usize, Error> {
        usize::try_from(self.natural()?).map_err(|_| cut_off())
    }

    /// The length of a list or a map.
    fn count(&mut self) -> Result<usize, Error> {
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*length) as usize)
    }

    fn block(&mut self) -> Result<&'a [u8], Error> {
        let length = self.length()?;
        let (block, rest) = self.rest.split_at_checked(length).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(block)
    }

    fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.block()?).map_err(Error::new)
    }

    fn float(&mut self) -> Result<f64, Error> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(f64::from_le_bytes(*bytes))
    }

    fn variant(&mut self) -> Result<u32, Error> {
        u32::try_from(self.natural()?).map_err(Error::new)
    }
}

fn cut_off() -> Error {
    Error::new("the bytes end too early")
}

impl<'a> Deserializer<'a> for &mut Reader<'a> {
    type Error = Error;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.tag()? {
            small @ tag::SMALL.. => visitor.visit_u64(u64::from(small - tag::SMALL)),
            tag::NOTHING => visitor.visit_unit(),
            tag::FALSE => visitor.visit_bool(false),
            tag::TRUE => visitor.visit_bool(true),
            tag::NATURAL => visitor.visit_u64(self.natural()?),
            tag::NEGATIVE => visitor.visit_i64(!(self.natural()? as i64)),
            tag::FLOAT => visitor.visit_f64(self.float()?),
            tag::TEXT => visitor.visit_borrowed_str(self.text()?),
            tag::BYTES => visitor.visit_borrowed_bytes(self.block()?),
            tag::LIST => {
                let left = self.count()?;
                visitor.visit_seq(Items { reader: self, left })
            }
            tag::FIELDS => {
                let left = self.length()?;
                visitor.visit_seq(Items { reader: self, left })
            }
            tag::MAP => {
                let left = self.count()?;
                visitor.visit_map(Items { reader: self, left })
            }
            tag::SOME => visitor.visit_some(self),
            tag::VARIANT => {
                let index = self.variant()?;
                visitor.visit_map(Variant {
                    reader: self,
                    index: Some(index),
                })
            }
            other => Err(Error::new(format!("unknown kind of value {other}"))),
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.tag()? {
            tag::NOTHING => visitor.visit_none(),
            tag::SOME => visitor.visit_some(self),
            _ => Err(Error::new("a value is not optional")),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.tag()? {
            tag::VARIANT => visitor.visit_enum(self),
            _ => Err(Error::new("a value is not a variant")),
        }
    }

    // The other kinds need no hint from the visitor, because the tag contains the kind of the
    // value.
    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The rest of a list, of fields or of a map.
struct Items<'r, 'a> {
    reader: &'r mut Reader<'a>,
    left: usize,
}

impl<'a> SeqAccess<'a> for Items<'_, 'a> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.reader.rest.len()))
    }
}

impl<'a> MapAccess<'a> for Items<'_, 'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        SeqAccess::size_hint(self)
    }
}

impl<'a> EnumAccess<'a> for &mut Reader<'a> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let index: U32Deserializer<Error> = self.variant()?.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'a> VariantAccess<'a> for &mut Reader<'a> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.tag()? {
            tag::NOTHING => Ok(()),
            _ => Err(Error::new("a variant holds too much")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'a>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
}

/// A variant for a visitor that does not expect a variant: a map with the variant's number as its
/// only key.
struct Variant<'r, 'a> {
    reader: &'r mut Reader<'a>,
    index: Option<u32>,
}

impl<'a> MapAccess<'a> for Variant<'_, 'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(index) = self.index.take() else {
            return Ok(None);
        };
        // After buffering a value, serde accepts no `u32` as the number of a variant, but a `u64`.
        let index: U64Deserializer<Error> = u64::from(index).into_deserializer();
        seed.deserialize(index).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}
