//! Reads a parsed document, a tree of [`Node`]s, into a type. Errors have separate parts, such as
//! the path and the expected type; [`error`](super::error) makes a sentence of them.

use std::str::FromStr;

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
        value::{MapAccessDeserializer, MapDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};
use svc_core::registration::Step;

use super::{error::Fault, node::Node};

/// serde_json reads its own types as newtypes whose names have this prefix.
pub(super) const RAW_VALUE: &str = "$serde_json::private::";

#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a Node);

impl<'a> Reader<'a> {
    fn unexpected(&self) -> Unexpected<'a> {
        match self.0 {
            Node::Null => Unexpected::Unit,
            Node::Bool(value) => Unexpected::Bool(*value),
            Node::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => Unexpected::Unsigned(value),
                (_, Some(value)) => Unexpected::Signed(value),
                _ => Unexpected::Float(number.as_f64().unwrap_or(f64::MAX)),
            },
            Node::Text(text) | Node::Word(text) => Unexpected::Str(text),
            Node::Date(text) => Unexpected::Other(text),
            Node::List(_) => Unexpected::Seq,
            Node::Table(_) => Unexpected::Map,
        }
    }

    fn refuse<'de, T>(&self, visitor: &impl Visitor<'de>) -> Result<T, Fault> {
        Err(Fault::invalid_type(self.unexpected(), visitor))
    }

    /// Reads the text of a [`Node::Word`] as a number or a boolean.
    fn word<T: FromStr>(&self) -> Option<T> {
        match self.0 {
            Node::Word(word) => word.parse().ok(),
            _ => None,
        }
    }

    fn unsigned<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.word() {
            Some(value) => visitor.visit_u64(value),
            None => self.deserialize_any(visitor),
        }
    }

    fn signed<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.word() {
            Some(value) => visitor.visit_i64(value),
            None => self.deserialize_any(visitor),
        }
    }
}

/// Defines methods of `Deserializer` that do the same as another method.
macro_rules! same {
    ($($method:ident => $as:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.$as(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (_, Some(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(number.as_f64().unwrap_or(f64::MAX)),
            },
            Node::Text(text) | Node::Word(text) | Node::Date(text) => visitor.visit_str(text),
            Node::List(list) => visitor.visit_seq(Items {
                items: list.iter(),
                index: 0,
            }),
            Node::Table(members) => visitor.visit_map(Members {
                members: members.iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name.starts_with(RAW_VALUE) {
            // Types with raw JSON are read here only to find an error. Raw JSON accepts any value,
            // so `null` replaces the value.
            return visitor.visit_map(MapDeserializer::new(std::iter::once((name, "null"))));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Text(text) | Node::Word(text) => {
                visitor.visit_enum(StrDeserializer::<Fault>::new(text))
            }
            Node::Table(members) if !members.is_empty() => {
                visitor.visit_enum(MapAccessDeserializer::new(Members {
                    members: members.iter(),
                    value: None,
                }))
            }
            _ => Err(Fault::not_one_of(self.unexpected(), variants)),
        }
    }

    // In place of a struct, serde would also accept an array of the values of its fields. Documents
    // must not use that form.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Table(_) => self.deserialize_any(visitor),
            _ => self.refuse(&visitor),
        }
    }

    // Types that hold any object would also accept null.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Table(_) => self.deserialize_any(visitor),
            _ => self.refuse(&visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Date(_) => self.refuse(&visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.word() {
            Some(value) => visitor.visit_bool(value),
            None => self.deserialize_any(visitor),
        }
    }

    same! {
        deserialize_string => deserialize_str, deserialize_u8 => unsigned,
        deserialize_u16 => unsigned, deserialize_u32 => unsigned, deserialize_u64 => unsigned,
        deserialize_i32 => signed, deserialize_i64 => signed,
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple tuple_struct
        identifier ignored_any
    }
}

struct Items<'a> {
    items: std::slice::Iter<'a, Node>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        let read = seed.deserialize(Reader(item));
        read.map(Some)
            .map_err(|fault| fault.inside(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'a> {
    members: std::slice::Iter<'a, (String, Node)>,
    /// The member whose key was read last.
    value: Option<(&'a str, &'a Node)>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.members.next() else {
            return Ok(None);
        };
        self.value = Some((key, value));
        let key_reader: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(key_reader)
            .map(Some)
            .map_err(|fault| fault.at_key(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, value) = self
            .value
            .take()
            .ok_or_else(|| Fault::custom("a value without a key"))?;
        seed.deserialize(Reader(value))
            .map_err(|fault| fault.inside(Step::Key(key.to_owned())))
    }
}
