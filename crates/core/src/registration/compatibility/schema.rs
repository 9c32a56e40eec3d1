//! Schemas, and the parts that all apply to one value.

use std::ptr;

use serde_json::{Map, Value};

use crate::schema::Scan;

/// The maximum number of parts of one schema.
const PARTS_MAX: usize = 64;

/// A whole schema, and where its references lead.
pub(super) struct Root<'a> {
    value: &'a Value,
    /// `None` if the schema is not well-formed.
    scan: Option<Scan<'a>>,
}

impl<'a> Root<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self {
            value,
            scan: Scan::new(value).ok(),
        }
    }

    pub(super) fn schema(&'a self) -> Schema<'a> {
        Schema {
            value: self.value,
            root: self,
        }
    }
}

/// A subschema.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a> {
    pub(super) value: &'a Value,
    root: &'a Root<'a>,
}

/// One part of a schema: itself, the target of a reference, or a member of `allOf`. A value must
/// satisfy every part.
pub(super) type Part<'a> = Schema<'a>;

/// A schema that accepts any value.
const ANY: &Value = &Value::Bool(true);

impl<'a> Schema<'a> {
    fn of(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    pub(super) fn any(self) -> Self {
        self.of(ANY)
    }

    pub(super) fn is_any(self) -> bool {
        match self.value {
            Value::Bool(accepts) => *accepts,
            Value::Object(members) => members.is_empty(),
            _ => false,
        }
    }

    pub(super) fn is_never(self) -> bool {
        self.value == &Value::Bool(false)
    }

    pub(super) fn get(self, keyword: &str) -> Option<&'a Value> {
        self.value.get(keyword)
    }

    pub(super) fn keywords(self) -> impl Iterator<Item = &'a str> {
        let members = self.value.as_object().into_iter();
        members.flat_map(Map::keys).map(String::as_str)
    }

    /// The schema of a keyword.
    pub(super) fn sub(self, keyword: &str) -> Option<Self> {
        let is_schema = |value: &&Value| value.is_object() || value.is_boolean();
        self.get(keyword).filter(is_schema).map(|it| self.of(it))
    }

    pub(super) fn sub_or_any(self, keyword: &str) -> Self {
        self.sub(keyword).unwrap_or(self.any())
    }

    /// The list of schemas of a keyword.
    pub(super) fn list(self, keyword: &str) -> Option<Vec<Self>> {
        let list = self.get(keyword)?.as_array()?;
        Some(list.iter().map(|value| self.of(value)).collect())
    }

    /// The schemas of a keyword by name, such as those of `properties`.
    pub(super) fn named(self, keyword: &str) -> Vec<(&'a str, Self)> {
        let members = self.get(keyword).and_then(Value::as_object);
        let members = members.into_iter().flatten();
        members
            .map(|(name, value)| (name.as_str(), self.of(value)))
            .collect()
    }

    /// One of the schemas of a keyword.
    pub(super) fn member(self, keyword: &str, name: &str) -> Option<Self> {
        self.get(keyword)?.get(name).map(|it| self.of(it))
    }

    pub(super) fn property(self, name: &str) -> Option<Self> {
        self.member("properties", name)
    }

    /// The names of a keyword such as `required`.
    pub(super) fn names(self, keyword: &str) -> Vec<&'a str> {
        let names = self.get(keyword).and_then(Value::as_array);
        let names = names.into_iter().flatten();
        names.filter_map(Value::as_str).collect()
    }

    /// The schemas of the first items of an array, and the schema of all further items.
    pub(super) fn items(self) -> (Vec<Self>, Self) {
        let (first, rest) = match (self.list("prefixItems"), self.list("items")) {
            (Some(first), _) => (first, self.sub("items")),
            (None, Some(first)) => (first, self.sub("additionalItems")),
            (None, None) => (Vec::new(), self.sub("items")),
        };
        (first, rest.unwrap_or(self.any()))
    }

    /// The schema that is applied to a member that no other keyword of this part describes.
    pub(super) fn additional(self) -> Self {
        self.sub_or_any("additionalProperties")
    }

    /// Every part of this schema. `None` if a reference leads to no known schema, or if there are
    /// too many parts.
    pub(super) fn parts(self) -> Option<Vec<Part<'a>>> {
        let mut parts = vec![self];
        let mut next = 0;
        while let Some(part) = parts.get(next).copied() {
            next += 1;
            let mut found = part.targets()?;
            found.extend(part.list("allOf").unwrap_or_default());
            for schema in found {
                if !parts.iter().any(|it| ptr::eq(it.value, schema.value)) {
                    parts.push(schema);
                }
            }
            if parts.len() > PARTS_MAX {
                return None;
            }
        }
        Some(parts)
    }

    /// Where the references of this schema lead; `None` if this is not known.
    fn targets(self) -> Option<Vec<Self>> {
        let has_reference = self
            .keywords()
            .any(|keyword| matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef"));
        if !has_reference {
            return Some(Vec::new());
        }
        let references = self.root.scan.as_ref()?.references_of(self.value)?;
        let targets = references.iter().map(|reference| {
            let target = self.root.value.pointer(&reference.target)?;
            Some(self.of(target))
        });
        targets.collect()
    }
}
