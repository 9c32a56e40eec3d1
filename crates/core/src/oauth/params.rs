//! The parameters of OAuth: a query or a form, with each name except `resource` at most once.

use std::collections::HashMap;

use thiserror::Error;

/// The maximum number of characters of a name that an error message shows.
const NAME_SHOWN: usize = 40;

/// Why parameters are refused. In OAuth, the code of these errors is `invalid_request`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ParamError {
    #[error("the parameter `{0}` is given twice")]
    Twice(String),
    #[error("the parameter `{0}` is missing")]
    Missing(&'static str),
}

/// Parameters by name. `resource` may be given several times (RFC 8707).
#[derive(Debug, Default)]
pub struct Params {
    values: HashMap<String, String>,
    pub resources: Vec<String>,
}

impl Params {
    pub fn parse(encoded: &[u8]) -> Result<Self, ParamError> {
        let mut params = Self::default();
        for (name, value) in form_urlencoded::parse(encoded) {
            // A parameter without a value counts as absent (RFC 6749, 3.1).
            if value.is_empty() {
                continue;
            }
            if name == "resource" {
                params.resources.push(value.into_owned());
            } else if let Some(twice) = params.values.insert(name.to_string(), value.into_owned()) {
                drop(twice);
                return Err(ParamError::Twice(name.chars().take(NAME_SHOWN).collect()));
            }
        }
        Ok(params)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn take(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    pub fn require(&mut self, name: &'static str) -> Result<String, ParamError> {
        self.take(name).ok_or(ParamError::Missing(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_may_be_given_once_and_an_empty_one_is_absent() {
        let params = Params::parse(b"a=1&b=&resource=x&resource=y&c=%20+").expect("parsed");
        assert_eq!(params.get("a"), Some("1"));
        assert_eq!(params.get("b"), None);
        assert_eq!(params.get("c"), Some("  "));
        assert_eq!(params.resources, ["x", "y"]);
        let error = Params::parse(b"a=1&a=1").expect_err("twice");
        assert_eq!(error.to_string(), "the parameter `a` is given twice");
    }

    #[test]
    fn a_required_parameter_is_taken_once_and_then_missing() {
        let mut params = Params::parse(b"code=abc&state=x").expect("parsed");
        assert_eq!(params.take("state").as_deref(), Some("x"));
        assert_eq!(params.take("state"), None);
        assert_eq!(params.require("code"), Ok("abc".to_owned()));
        assert_eq!(params.require("code"), Err(ParamError::Missing("code")));
    }
}
