//! Reads JSON without the liberties of serde.
//!
//! [`Strict`] wraps a deserializer, and everything that the deserializer passes on. It accepts an
//! object only where a type has named fields: serde would also accept an array of the values of the
//! fields. With [`Rules::RECORD`] it also rejects repeated members of maps; serde itself rejects
//! those of structs. Raw JSON is passed on as it is.
//!
//! serde copies values before it reads them in types with `untagged`, `flatten` or `tag`, so the
//! first rule has no effect inside them. A test reads every request of the API with arrays in place
//! of its objects.

use std::{collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
        VariantAccess, Visitor,
    },
};

use super::{error::shorten, reader::RAW_VALUE};

#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Whether each member of a map must occur once.
    once: bool,
}

impl Rules {
    pub(super) const DOCUMENT: Self = Self { once: false };
    pub(super) const RECORD: Self = Self { once: true };
}

/// A deserializer or a part of one.
pub(super) struct Strict<T> {
    pub(super) inner: T,
    pub(super) rules: Rules,
}

impl<T> Strict<T> {
    fn wrap<U>(&self, inner: U) -> Strict<U> {
        Strict {
            inner,
            rules: self.rules,
        }
    }

    fn visitor<V>(&self, inner: V) -> StrictVisitor<V> {
        StrictVisitor {
            inner,
            rules: self.rules,
            has_fields: false,
        }
    }

    fn visitor_of_fields<V>(&self, inner: V) -> StrictVisitor<V> {
        StrictVisitor {
            has_fields: true,
            ..self.visitor(inner)
        }
    }
}

macro_rules! forward {
    ($($method:ident($($name:ident: $kind:ty),*)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.visitor(visitor);
            self.inner.$method($($name,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        deserialize_any(), deserialize_bool(), deserialize_i8(), deserialize_i16(),
        deserialize_i32(), deserialize_i64(), deserialize_i128(), deserialize_u8(),
        deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_u128(),
        deserialize_f32(), deserialize_f64(), deserialize_char(), deserialize_str(),
        deserialize_string(), deserialize_bytes(), deserialize_byte_buf(), deserialize_option(),
        deserialize_unit(), deserialize_unit_struct(name: &'static str), deserialize_seq(),
        deserialize_tuple(len: usize), deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_map(), deserialize_identifier(), deserialize_ignored_any(),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if name.starts_with(RAW_VALUE) {
            return self.inner.deserialize_newtype_struct(name, visitor);
        }
        let visitor = self.visitor(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.visitor_of_fields(visitor);
        self.inner.deserialize_struct(name, fields, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let seed = self.wrap(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Strict<A> {
    type Error = A::Error;
    type Variant = Strict<A::Variant>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), A::Error> {
        let rules = self.rules;
        let (variant, inner) = self.inner.variant_seed(seed)?;
        Ok((variant, Strict { inner, rules }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.wrap(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.visitor(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.visitor_of_fields(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

struct StrictVisitor<V> {
    inner: V,
    rules: Rules,
    /// Whether the type has named fields.
    has_fields: bool,
}

impl<V> StrictVisitor<V> {
    fn wrap<U>(&self, inner: U) -> Strict<U> {
        Strict {
            inner,
            rules: self.rules,
        }
    }
}

macro_rules! visit {
    ($($method:ident: $kind:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for StrictVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64,
        visit_i128: i128, visit_u8: u8, visit_u16: u16, visit_u32: u32, visit_u64: u64,
        visit_u128: u128, visit_f32: f32, visit_f64: f64, visit_char: char, visit_bytes: &[u8],
        visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>, visit_str: &str,
        visit_borrowed_str: &'de str, visit_string: String,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        if self.has_fields {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let items = self.wrap(items);
        self.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        // serde itself rejects repeated fields of structs.
        let is_checked = self.rules.once && !self.has_fields;
        self.inner.visit_map(Members {
            inner: members,
            rules: self.rules,
            seen: is_checked.then(HashSet::new),
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        let data = self.wrap(data);
        self.inner.visit_enum(data)
    }
}

/// The members of an object.
struct Members<A> {
    inner: A,
    rules: Rules,
    /// The names so far, if no name may occur twice.
    seen: Option<HashSet<String>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(seen) = &mut self.seen else {
            return self.inner.next_key_seed(seed);
        };
        let Some(name) = self.inner.next_key::<String>()? else {
            return Ok(None);
        };
        if !seen.insert(name.clone()) {
            let name = shorten(&name);
            return Err(A::Error::custom(format!("field `{name}` occurs twice")));
        }
        let name: serde::de::value::StringDeserializer<A::Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.inner.next_value_seed(Strict {
            inner: seed,
            rules: self.rules,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}
