//! The form of a method: every kind of schema has a field, and params can be saved and shared.

use serde_json::json;
use svc_testkit::{fixture, method};

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

/// One line, as TOML requires of an inline table.
const SCHEMA: &str = "{ type = 'object', required = ['payment', 'email', 'day'], properties = { \
    payment = { oneOf = [ \
        { title = 'Card', type = 'object', required = ['kind', 'number'], \
          properties = { kind = { const = 'card' }, number = { type = 'string' } } }, \
        { title = 'Invoice', type = 'object', required = ['kind', 'days'], \
          properties = { kind = { const = 'invoice' }, days = { type = 'integer', default = 30 } } } ] }, \
    email = { type = 'string', format = 'email', \
      description = 'Gets the **receipt**, see [terms](https://example.org/terms) <img src=x onerror=window.hacked=1> [x](javascript:window.hacked=1)' }, \
    day = { type = 'string', format = 'date' }, \
    at = { type = 'string', format = 'date-time' }, \
    pin = { type = 'string', writeOnly = true }, \
    labels = { type = 'object', additionalProperties = { type = 'string' } }, \
    days = { type = 'array', uniqueItems = true, items = { enum = ['mon', 'tue', 'wed'] } }, \
    old = { type = 'string', deprecated = true }, \
    alarm = { type = 'string', format = 'time' }, \
    ship = { oneOf = [ \
        { type = 'object', required = ['by', 'days'], \
          properties = { by = { enum = ['post'] }, days = { type = 'integer' } } }, \
        { type = 'object', required = ['by', 'zone'], \
          properties = { by = { enum = ['courier'] }, zone = { type = 'string' } } } ] }, \
    priority = { oneOf = [ { enum = ['low', 'high'] }, { type = 'integer' } ] }, \
    options = { type = 'object', required = ['mode'], properties = { mode = { enum = ['fast', 'slow'] } }, \
        patternProperties = { '^x-' = { type = 'integer' } }, additionalProperties = { type = 'string' }, \
        propertyNames = { pattern = '^[a-z-]+$' }, maxProperties = 3 }, \
    contact = { type = 'object', properties = { mail = { type = 'string' }, phone = { type = 'string' } }, \
        anyOf = [ { required = ['mail'] }, { required = ['phone'] } ] } }, \
    examples = [ { payment = { kind = 'invoice', days = 14 }, email = 'ann@example.org', day = '2026-11-17' } ] }";

#[tokio::test]
async fn a_form_has_a_field_for_every_kind_of_schema_and_checks_formats() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("shop").await;
    let pay = method("pay", "echo").line("params_schema", SCHEMA);
    let _agent = space.publish(fixture().with(pay)).await;
    let facts = json!({"ann": credentials(&ann)});
    run(&browser, "form", &server, &facts).await;
}

#[tokio::test]
async fn params_are_saved_and_shared_as_a_link_and_columns_are_chosen() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("shop").await;
    let text = "{ type = 'object', properties = { text = { type = 'string' } } }";
    let secret =
        "{ type = 'object', properties = { pin = { type = 'string', writeOnly = true } } }";
    let methods = fixture()
        .with(method("note", "echo").line("params_schema", text))
        .with(method("unlock", "echo").line("params_schema", secret));
    let _agent = space.publish(methods).await;
    let facts = json!({"ann": credentials(&ann)});
    run(&browser, "saved-params", &server, &facts).await;
}
