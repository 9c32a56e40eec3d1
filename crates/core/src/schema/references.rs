//! References inside a schema, and what they refer to.

use std::{collections::HashMap, ptr};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{
    SchemaError,
    keyword::{Below, is_schema, subschemas},
};

/// Keywords that refer to a schema.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The maximum total size of the resolved references of a schema, in bytes. It is limited because a
/// short id or anchor can resolve to a long pointer.
const POINTER_BYTES_MAX: usize = 1024 * 1024;

/// The subschemas of a schema and its references.
pub(crate) struct Scan<'a> {
    root: &'a Value,
    /// The position of each subschema that is an object.
    positions: Vec<Position<'a>>,
    by_address: HashMap<*const Value, usize>,
    /// The root, then the schemas with an `$id`. If a reference names no resource, its pointer
    /// begins at the resource that encloses the reference.
    resources: Vec<Resource<'a>>,
    resource_ids: HashMap<&'a str, usize>,
    /// Anchors by name and resource.
    anchors: HashMap<(&'a str, usize), usize>,
    /// Anchors by name only.
    anchor_names: HashMap<&'a str, usize>,
    /// References by the schema that contains them.
    references: HashMap<usize, Vec<Reference>>,
    /// Regular expressions: the schema, the keyword and the expression.
    pub(super) patterns: Vec<(usize, &'static str, &'a str)>,
}

enum Position<'a> {
    In {
        parent: usize,
        keyword: &'a str,
        below: Below<'a>,
    },
    /// The JSON pointer to the root (""), or to a schema that only a reference leads to.
    At(String),
}

struct Resource<'a> {
    schema: usize,
    value: &'a Value,
}

/// A reference, and the JSON pointer to its target.
pub(crate) struct Reference {
    pub(super) keyword: &'static str,
    pub(crate) target: String,
}

/// A reference that is not resolved yet.
struct Unresolved<'a> {
    schema: usize,
    keyword: &'static str,
    text: &'a str,
    resource: usize,
}

impl<'a> Scan<'a> {
    /// Finds every subschema and resolves every reference.
    pub(crate) fn new(root: &'a Value) -> Result<Self, SchemaError> {
        let mut scan = Self {
            root,
            positions: Vec::new(),
            by_address: HashMap::new(),
            resources: vec![Resource {
                schema: 0,
                value: root,
            }],
            resource_ids: HashMap::new(),
            anchors: HashMap::new(),
            anchor_names: HashMap::new(),
            references: HashMap::new(),
            patterns: Vec::new(),
        };
        let mut found = Vec::new();
        scan.visit(root, Position::At(String::new()), 0, &mut found);
        let mut bytes = 0;
        while let Some(next) = found.pop() {
            let target = scan.resolve(&next)?;
            bytes += target.len();
            if bytes > POINTER_BYTES_MAX {
                return Err(SchemaError::TooManyReferences);
            }
            if let Some(value) = root.pointer(&target)
                && !scan.by_address.contains_key(&ptr::from_ref(value))
            {
                scan.visit(value, Position::At(target.clone()), 0, &mut found);
            }
            scan.references
                .entry(next.schema)
                .or_default()
                .push(Reference {
                    keyword: next.keyword,
                    target,
                });
        }
        Ok(scan)
    }

    /// The references of a subschema; `None` if the value is not a subschema.
    pub(crate) fn references_of(&self, value: &Value) -> Option<&[Reference]> {
        let schema = self.by_address.get(&ptr::from_ref(value))?;
        Some(self.references.get(schema).map_or(&[], Vec::as_slice))
    }

    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.references.values().flatten()
    }

    /// The path to a subschema.
    pub(super) fn path(&self, mut schema: usize) -> Vec<String> {
        let mut path = Vec::new();
        loop {
            match &self.positions[schema] {
                Position::In {
                    parent,
                    keyword,
                    below,
                } => {
                    match below {
                        Below::Itself => {}
                        Below::Index(index) => path.push(index.to_string()),
                        Below::Name(name) => path.push((*name).to_owned()),
                    }
                    path.push((*keyword).to_owned());
                    schema = *parent;
                }
                Position::At(pointer) => {
                    path.reverse();
                    let steps = pointer.split('/').skip(1);
                    let steps = steps.map(|step| step.replace("~1", "/").replace("~0", "~"));
                    return steps.chain(path).collect();
                }
            }
        }
    }

    fn pointer(&self, schema: usize) -> String {
        let path = self.path(schema);
        let escaped = path
            .iter()
            .map(|step| step.replace('~', "~0").replace('/', "~1"));
        escaped.fold(String::new(), |pointer, step| pointer + "/" + &step)
    }

    /// Visits subschemas only: in `enum`, `const`, `default` and `examples` a `$ref` is data.
    fn visit(
        &mut self,
        schema: &'a Value,
        position: Position<'a>,
        mut resource: usize,
        found: &mut Vec<Unresolved<'a>>,
    ) {
        let Value::Object(object) = schema else {
            return;
        };
        let this = self.positions.len();
        self.positions.push(position);
        self.by_address.insert(ptr::from_ref(schema), this);
        let text = |keyword: &str| object.get(keyword).and_then(Value::as_str);
        match text("$id").or_else(|| text("id")) {
            // In drafts before 2019-09, an `$id` that begins with `#` is an anchor. `#` alone changes
            // nothing: it is the id of the resource that encloses the schema.
            Some(id) if id.starts_with('#') => {
                self.anchor(&id[1..], resource, this);
            }
            Some(id) => {
                if this != 0 {
                    resource = self.resources.len();
                    self.resources.push(Resource {
                        schema: this,
                        value: schema,
                    });
                }
                let id = id.trim_end_matches('#');
                self.resource_ids.entry(id).or_insert(resource);
            }
            None => {}
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchor(anchor, resource, this);
        }
        for keyword in REFERENCES {
            if let Some(text) = text(keyword) {
                found.push(Unresolved {
                    schema: this,
                    keyword,
                    text,
                    resource,
                });
            }
        }
        if let Some(pattern) = text("pattern") {
            self.patterns.push((this, "pattern", pattern));
        }
        for (keyword, value) in object {
            for (below, subschema) in subschemas(keyword, value) {
                if let ("patternProperties", Below::Name(pattern)) = (keyword.as_str(), below) {
                    self.patterns.push((this, "patternProperties", pattern));
                }
                let position = Position::In {
                    parent: this,
                    keyword,
                    below,
                };
                self.visit(subschema, position, resource, found);
            }
        }
    }

    fn anchor(&mut self, name: &'a str, resource: usize, schema: usize) {
        self.anchors.entry((name, resource)).or_insert(schema);
        self.anchor_names.entry(name).or_insert(schema);
    }

    fn resolve(&self, reference: &Unresolved<'_>) -> Result<String, SchemaError> {
        let text = reference.text;
        let at = || {
            let mut at = self.path(reference.schema);
            at.push(reference.keyword.to_owned());
            at
        };
        let (base, fragment) = text.split_once('#').unwrap_or((text, ""));
        let resource = match base {
            "" => reference.resource,
            base => *self
                .resource_ids
                .get(base)
                .ok_or_else(|| SchemaError::RemoteReference {
                    at: at(),
                    reference: text.to_owned(),
                })?,
        };
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        let found = match &*fragment {
            "" => Some(self.pointer(self.resources[resource].schema)),
            pointer if pointer.starts_with('/') => self.find_pointer(resource, pointer),
            anchor => {
                let here = self.anchors.get(&(anchor, resource));
                let anywhere = here.or_else(|| self.anchor_names.get(anchor));
                anywhere.map(|schema| self.pointer(*schema))
            }
        };
        found.ok_or_else(|| SchemaError::DanglingReference {
            at: at(),
            reference: text.to_owned(),
        })
    }

    /// Follows `pointer` from the resource. If no schema is there, follows it from the root,
    /// because older drafts ignore an `$id` beside a `$ref`.
    fn find_pointer(&self, resource: usize, pointer: &str) -> Option<String> {
        let Resource { schema, value } = &self.resources[resource];
        if value.pointer(pointer).is_some_and(is_schema) {
            return Some(self.pointer(*schema) + pointer);
        }
        let from_root = self
            .root
            .pointer(pointer)
            .filter(|target| is_schema(target));
        from_root.map(|_| pointer.to_owned())
    }
}
