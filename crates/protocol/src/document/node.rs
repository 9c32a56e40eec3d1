//! A document as a tree. Unlike a JSON value, it keeps repeated members, and dates as dates.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};
use svc_core::registration::Step;
use toml::de::DeValue;

use super::ReadError;

pub(super) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// A value of a query or an environment variable: text that can also be read as a number or a
    /// boolean.
    Word(String),
    /// A date or a time of TOML, as RFC 3339 text.
    Date(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn query(pairs: Vec<(String, String)>) -> Self {
        let words = pairs.into_iter();
        Self::Table(words.map(|(key, word)| (key, Self::Word(word))).collect())
    }

    pub(super) fn from_toml(value: &DeValue<'_>) -> Result<Self, ReadError> {
        Ok(match value {
            DeValue::String(text) => Self::Text(text.clone().into_owned()),
            DeValue::Boolean(value) => Self::Bool(*value),
            DeValue::Datetime(date) => Self::Date(date.to_string()),
            DeValue::Integer(integer) => {
                let value = i64::from_str_radix(integer.as_str(), integer.radix());
                let value = value.map_err(|_| {
                    ReadError::plain(format!(
                        "the number {integer} is too large; write a number from {} to {}",
                        i64::MIN,
                        i64::MAX
                    ))
                })?;
                Self::Number(value.into())
            }
            DeValue::Float(float) => {
                let value = float.as_str().parse().ok().and_then(Number::from_f64);
                Self::Number(value.ok_or_else(|| {
                    ReadError::plain(format!(
                        "`{float}` cannot be written in JSON; write a finite number, or omit it"
                    ))
                })?)
            }
            DeValue::Array(list) => {
                let items = list.iter().enumerate().map(|(index, item)| {
                    Self::from_toml(item.get_ref())
                        .map_err(|error| error.inside(Step::Index(index)))
                });
                Self::List(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => {
                let members = table.iter().map(|(key, value)| {
                    let key: &str = key.get_ref();
                    match Self::from_toml(value.get_ref()) {
                        Ok(value) => Ok((key.to_owned(), value)),
                        Err(error) => Err(error.inside(Step::Key(key.to_owned()))),
                    }
                });
                Self::Table(members.collect::<Result<_, _>>()?)
            }
        })
    }
}

impl Node {
    /// Removes the innermost member of a table on a path. Returns the path to this member.
    pub(super) fn remove_member<'a>(&mut self, path: &'a [Step]) -> Option<&'a [Step]> {
        let depth = path.iter().rposition(|step| matches!(step, Step::Key(_)))?;
        let mut here = self;
        for step in &path[..depth] {
            here = match (step, here) {
                (Step::Key(key), Self::Table(members)) => {
                    let mut members = members.iter_mut();
                    members
                        .find(|(name, _)| name == key)
                        .map(|(_, node)| node)?
                }
                (Step::Index(index), Self::List(list)) => list.get_mut(*index)?,
                _ => return None,
            };
        }
        let (Step::Key(key), Self::Table(members)) = (&path[depth], here) else {
            return None;
        };
        let member = members.iter().position(|(name, _)| name == key)?;
        members.remove(member);
        Some(&path[..=depth])
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(list) => Self::List(list.iter().map(Self::from).collect()),
            Value::Object(members) => {
                let members = members.iter();
                Self::Table(members.map(|(key, v)| (key.clone(), v.into())).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut table = Vec::new();
        while let Some(member) = members.next_entry()? {
            table.push(member);
        }
        Ok(Node::Table(table))
    }
}
