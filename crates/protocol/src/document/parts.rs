//! Reads the parts of a TOML document one by one, and finds every error of a part.

use serde::de::DeserializeOwned;
use std::ops::Range;
use svc_core::registration::Step;
use toml::{Spanned, de::DeValue};

use super::{ReadError, TomlError, error::Format, find, node::Node, parse_toml, reader::Reader};

/// The maximum number of errors of one part that are reported.
const ERRORS_MAX: usize = 10;

/// A TOML document whose parts are read one by one.
pub(crate) struct TomlParts<'a> {
    root: DeValue<'a>,
}

/// A part of a document, and its errors.
pub(crate) struct Part<T> {
    /// The part without its wrong members. `None` if it cannot be read without them.
    pub value: Option<T>,
    pub errors: Vec<TomlError>,
    /// The paths to the wrong members, from the root of the document.
    pub left_out: Vec<Vec<Step>>,
}

impl<'a> TomlParts<'a> {
    pub fn parse(text: &'a str) -> Result<Self, TomlError> {
        let root = DeValue::Table(parse_toml(text)?.into_inner());
        Ok(Self { root })
    }

    /// The number of elements of an array; 0 if there is no array at the path.
    pub fn count(&self, path: &[Step]) -> usize {
        match self.at(path) {
            Some(DeValue::Array(list)) => list.len(),
            _ => 0,
        }
    }

    /// The text at a path.
    pub fn text(&self, path: &[Step]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    /// The position of the value at a path, or of its nearest parent that exists.
    pub fn locate(&self, path: &[Step]) -> Option<Range<usize>> {
        find(&self.root, path, 0..0, false)
    }

    /// Reads the value at a path. After each error, the wrong member is left out, and the rest is
    /// read again.
    pub fn read<T: DeserializeOwned>(&self, path: &[Step]) -> Part<T> {
        let mut part = Part {
            value: None,
            errors: Vec::new(),
            left_out: Vec::new(),
        };
        let Some(value) = self.at(path) else {
            return part;
        };
        let mut node = match Node::from_toml(value) {
            Ok(node) => node,
            Err(error) => {
                part.errors.push(self.error(path, error));
                return part;
            }
        };
        while part.errors.len() < ERRORS_MAX {
            let fault = match T::deserialize(Reader(&node)) {
                Ok(value) => {
                    part.value = Some(value);
                    break;
                }
                Err(fault) => fault,
            };
            let missing = fault.missing_field();
            let error = fault.render(Format::Toml);
            let wrong = node.remove_member(&error.path);
            let wrong = wrong.map(|wrong| [path, wrong].concat());
            // A required member that was left out is reported already.
            let is_left_out = missing.is_some_and(|field| {
                let field = Step::Key(field.to_owned());
                let missing = [path, &error.path, &[field]].concat();
                part.left_out.contains(&missing)
            });
            if !is_left_out {
                part.errors.push(self.error(path, error));
            }
            match wrong {
                Some(wrong) => part.left_out.push(wrong),
                None => break,
            }
        }
        part
    }

    fn at(&self, path: &[Step]) -> Option<&DeValue<'a>> {
        path.iter()
            .try_fold(&self.root, |value, step| match (step, value) {
                (Step::Key(key), DeValue::Table(table)) => {
                    table.get(key.as_str()).map(Spanned::get_ref)
                }
                (Step::Index(index), DeValue::Array(list)) => {
                    list.get(*index).map(Spanned::get_ref)
                }
                _ => None,
            })
    }

    /// An error of the part at `path`.
    fn error(&self, path: &[Step], error: ReadError) -> TomlError {
        let path = [path, &error.path].concat();
        TomlError {
            span: find(&self.root, &path, 0..0, error.is_about_key),
            path,
            message: error.message,
        }
    }
}
