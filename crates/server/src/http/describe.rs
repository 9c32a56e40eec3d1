//! The inputs and answers of handlers, derived from their signatures for the OpenAPI document.
//!
//! Extractors implement [`Input`] and answers implement [`Answer`]. A route of `router` does not
//! compile if an argument or the answer of its handler has no description. Only the routes of
//! `page` and `any_site` need no description.

use std::collections::BTreeSet;

use axum::extract::{Extension, Path, Request};
use http::HeaderMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use svc_protocol::api::PageQuery;
use svc_store::PageRequest;

use super::{
    client::Client,
    error::ApiResult,
    extract::{
        Accepted, Created, IdempotencyKey, Json, JsonBytes, NoContent, PathId, Query, RawRequest,
        Submission, WithCookies,
    },
    failures::{self, Failure},
};
use crate::{app::App, identity::Caller};

/// Writes the schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One operation of the document, as its handler defines it.
#[derive(Default)]
pub struct Operation {
    /// Types whose members are the query parameters.
    pub queries: Vec<SchemaOf>,
    /// Names and meanings of optional request headers.
    pub headers: Vec<(&'static str, &'static str)>,
    pub body: Option<SchemaOf>,
    pub answers: Vec<Content>,
    pub failures: BTreeSet<Failure>,
}

/// One successful answer.
pub struct Content {
    pub status: u16,
    pub meaning: &'static str,
    /// Media type and schema; `None` for an answer without a body.
    pub body: Option<(&'static str, SchemaOf)>,
}

impl Operation {
    pub fn answer_json<T: JsonSchema>(&mut self, status: u16, meaning: &'static str) {
        self.answer(status, meaning, Some((JSON, schema_of::<T>)));
    }

    pub fn answer(
        &mut self,
        status: u16,
        meaning: &'static str,
        body: Option<(&'static str, SchemaOf)>,
    ) {
        self.answers.push(Content {
            status,
            meaning,
            body,
        });
    }

    /// The names of the query parameters, with their schemas.
    pub fn query_parameters(&self, generator: &mut SchemaGenerator) -> Vec<(String, Value)> {
        let mut parameters = Vec::new();
        for query in &self.queries {
            let schema = query(generator).to_value();
            let name = name_of(&schema).expect("the type of a query is a struct");
            let members = generator.definitions()[name]["properties"].as_object();
            parameters.extend(members.cloned().unwrap_or_default());
        }
        parameters
    }

    pub fn fail(&mut self, failures: &[Failure]) {
        self.failures.extend(failures);
    }
}

/// The name of the schema that a `$ref` refers to.
pub fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

pub const JSON: &str = "application/json";

pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The part of a request that an extractor reads.
pub trait Input {
    fn describe(operation: &mut Operation);
}

/// Answers of a handler.
pub trait Answer {
    fn describe(operation: &mut Operation);
}

/// A handler. `T` is the tuple of its extractors, as in axum.
pub trait Describe<T> {
    fn describe(operation: &mut Operation);
}

macro_rules! handlers {
    ($(($($input:ident)*))*) => {$(
        impl<F, Fut, R, M, $($input),*> Describe<(M, $($input,)*)> for F
        where
            F: Fn($($input),*) -> Fut,
            Fut: Future<Output = R>,
            R: Answer,
            $($input: Input,)*
        {
            fn describe(operation: &mut Operation) {
                $($input::describe(operation);)*
                R::describe(operation);
            }
        }
    )*};
}

handlers! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E G) }

/// Extractors whose input the document does not describe.
macro_rules! internal {
    ($(($($parameter:ident)?) $input:ty),* $(,)?) => {$(
        impl$(<$parameter>)? Input for $input {
            fn describe(_: &mut Operation) {}
        }
    )*};
}

internal! {
    () App, () Caller, () Client, () HeaderMap, () Request,
    (T) Extension<T>, (T) Option<Extension<T>>,
}

impl<T: JsonSchema> Input for Json<T> {
    fn describe(operation: &mut Operation) {
        operation.body = Some(schema_of::<T>);
        operation.fail(failures::OF_RECORD);
    }
}

impl<T: JsonSchema> Input for Submission<T> {
    fn describe(operation: &mut Operation) {
        <Json<T> as Input>::describe(operation);
    }
}

impl<T: JsonSchema> Input for RawRequest<T> {
    fn describe(operation: &mut Operation) {
        operation.body = Some(schema_of::<T>);
        operation.fail(failures::OF_BODY);
    }
}

impl<T: JsonSchema> Input for Query<T> {
    fn describe(operation: &mut Operation) {
        operation.queries.push(schema_of::<T>);
        operation.fail(&[failures::INVALID_QUERY]);
    }
}

impl Input for PageRequest {
    fn describe(operation: &mut Operation) {
        Query::<PageQuery>::describe(operation);
        operation.fail(&[failures::INVALID_PAGE]);
    }
}

impl<T> Input for PathId<T> {
    fn describe(operation: &mut Operation) {
        operation.fail(&[failures::NOT_FOUND]);
    }
}

impl<T> Input for Path<T> {
    fn describe(operation: &mut Operation) {
        operation.fail(&[failures::NOT_FOUND]);
    }
}

impl Input for IdempotencyKey {
    fn describe(operation: &mut Operation) {
        operation.headers.push((
            "Idempotency-Key",
            "Within 24 hours, a second request with the same key and body emits nothing and gets the same answer",
        ));
        operation.fail(&[
            failures::INVALID_IDEMPOTENCY_KEY,
            failures::IDEMPOTENCY_CONFLICT,
        ]);
    }
}

impl<T: Answer> Answer for ApiResult<T> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
        operation.fail(&[
            failures::INTERNAL,
            failures::DATABASE_UNAVAILABLE,
            failures::DISK_FULL,
        ]);
    }
}

/// Answers with a `T` as JSON: status and meaning.
macro_rules! json_answers {
    ($($answer:ident: $status:literal $meaning:literal),*) => {$(
        impl<T: JsonSchema> Answer for $answer<T> {
            fn describe(operation: &mut Operation) {
                operation.answer_json::<T>($status, $meaning);
            }
        }
    )*};
}

json_answers! {
    Json: 200 "Success", JsonBytes: 200 "Success", Created: 201 "Created", Accepted: 202 "Accepted"
}

impl Answer for NoContent {
    fn describe(operation: &mut Operation) {
        operation.answer(204, "Done", None);
    }
}

impl<T: Answer> Answer for WithCookies<T> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}
