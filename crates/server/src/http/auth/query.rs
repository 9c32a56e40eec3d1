//! Rejects queries that are too long, or have parameters that the route does not read: a misspelled
//! filter would otherwise find everything.

use std::collections::HashMap;

use axum::extract::{MatchedPath, Query, Request};
use http::Method;
use schemars::SchemaGenerator;
use svc_protocol::document;

use super::super::{
    describe::Operation,
    error::{ApiError, ApiResult},
    failures,
    router::routes,
};

/// The maximum bytes of a query.
const QUERY_BYTES_MAX: usize = 8 * 1024;

/// The query parameters of each route of the API, by path. Other routes ignore unknown parameters,
/// as their standards require.
pub struct Parameters(HashMap<&'static str, Vec<(Method, Vec<String>)>>);

impl Parameters {
    pub fn new() -> Self {
        let mut known: HashMap<_, Vec<_>> = HashMap::new();
        let mut generator = SchemaGenerator::default();
        for route in routes() {
            let Some(describe) = route.describe.filter(|_| route.path.starts_with("/api/")) else {
                continue;
            };
            let mut operation = Operation::default();
            describe(&mut operation);
            let parameters = operation.query_parameters(&mut generator).into_iter();
            let names = parameters.map(|(name, _)| name).collect();
            known
                .entry(route.path)
                .or_default()
                .push((route.method, names));
        }
        Self(known)
    }

    pub fn check(&self, request: &Request) -> ApiResult<()> {
        let Some(query) = request.uri().query().filter(|query| !query.is_empty()) else {
            return Ok(());
        };
        if query.len() > QUERY_BYTES_MAX {
            let bytes = query.len();
            let detail =
                format!("the query has {bytes} bytes; at most {QUERY_BYTES_MAX} are allowed");
            return Err(ApiError::new(failures::QUERY_TOO_LONG, detail));
        }
        let Some(known) = self.of(request) else {
            return Ok(());
        };
        let given: Vec<(String, String)> = Query::try_from_uri(request.uri())
            .map(|Query(pairs)| pairs)
            .unwrap_or_default();
        let unknown = given.iter().find(|(name, _)| !known.contains(name));
        unknown.map_or(Ok(()), |(name, _)| {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            let shown: String = name.chars().take(100).collect();
            let why = document::explain_parameter(&shown, &known);
            let detail = format!("in the query: {why}");
            Err(ApiError::new(failures::INVALID_QUERY, detail))
        })
    }

    /// `None` if the route may have any parameters.
    fn of(&self, request: &Request) -> Option<&[String]> {
        let path = request.extensions().get::<MatchedPath>()?.as_str();
        let method = match *request.method() {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        let mut rows = self.0.get(path)?.iter();
        rows.find(|(known, _)| known == method)
            .map(|(_, names)| names.as_slice())
    }
}
