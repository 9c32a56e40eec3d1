//! The rules of the keywords: when the facts that are known about a value satisfy a limit.
//!
//! `limit` is one part of the wide schema, `facts` are all parts of the narrow one. Keywords that
//! this module does not know count as limits that changed, unless their values are equal.

mod branches;

use std::{cmp::Ordering, collections::HashSet};

use serde_json::Value;

use super::{
    BreakingChange, Comparison, Side,
    schema::Part,
    values::{allows, compare, is_multiple, is_same, types, types_of, values_of},
};
use crate::schema::limited_type;

/// Keywords that describe a value and limit nothing, or that `Part` resolves.
#[rustfmt::skip]
const WITHOUT_EFFECT: [&str; 20] = [
    "$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor",
    "$recursiveRef", "$ref", "$schema", "$vocabulary", "allOf", "default", "definitions",
    "deprecated", "description", "discriminator", "example", "examples", "title",
];

/// Keywords that other keywords of this list are checked with.
#[rustfmt::skip]
const CHECKED_ELSEWHERE: [&str; 9] = [
    "const", "else", "enum", "maxContains", "minContains", "readOnly", "then", "type", "writeOnly",
];

/// Keywords that decide which members and items `unevaluatedProperties` and `unevaluatedItems`
/// apply to.
#[rustfmt::skip]
const EVALUATING: [&str; 12] = [
    "allOf", "anyOf", "contains", "dependentSchemas", "else", "if", "items", "oneOf",
    "patternProperties", "prefixItems", "then", "$ref",
];

impl Comparison {
    /// Checks `type`, `enum` and `const`.
    pub(super) fn check_type(&mut self, path: &str, limit: Part<'_>, facts: &[Part<'_>]) {
        if limit.get("type").is_some()
            && let Some(allowed) = types_of(limit)
            && !types(facts).is_some_and(|found| found.iter().all(|name| allows(&allowed, name)))
        {
            return self.report(path, "type");
        }
        for keyword in ["enum", "const"] {
            let allowed = match (keyword, limit.get(keyword)) {
                (_, None) => continue,
                ("enum", Some(Value::Array(values))) => values.clone(),
                (_, Some(value)) => vec![value.clone()],
            };
            let is_allowed = |value: &Value| allowed.iter().any(|it| is_same(it, value));
            let mut sets = facts.iter().filter_map(|fact| values_of(*fact));
            if !sets.any(|values| values.iter().all(is_allowed)) {
                return self.report(path, keyword);
            }
        }
    }

    pub(super) fn check_keyword(
        &mut self,
        path: &str,
        limit: Part<'_>,
        keyword: &str,
        facts: &[Part<'_>],
        depth: usize,
    ) {
        let Some(value) = limit.get(keyword) else {
            return;
        };
        if !applies(keyword, facts) {
            return;
        }
        let some = |satisfies: &dyn Fn(Part<'_>) -> bool| facts.iter().any(|fact| satisfies(*fact));
        let is_covered = match keyword {
            "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" => {
                some(&|fact| is_within(fact, keyword, value))
            }
            "multipleOf" => {
                let is_whole = types(facts).is_some_and(|types| types == ["integer"]);
                is_whole && is_same(value, &Value::from(1))
                    || some(&|fact| fact.get(keyword).is_some_and(|it| is_multiple(it, value)))
            }
            "minLength" | "minItems" | "minProperties" => {
                is_same(value, &Value::from(0)) || some(&|fact| is_at_least(fact, keyword, value))
            }
            "maxLength" | "maxItems" | "maxProperties" => {
                some(&|fact| is_at_most(fact, keyword, value))
            }
            "uniqueItems" => {
                value == &Value::Bool(false) || some(&|it| it.get(keyword) == Some(value))
            }
            "required" => return self.check_required(path, limit, facts),
            "dependentRequired" | "dependencies" | "dependentSchemas" => {
                return self.check_dependents(path, limit, keyword, facts, depth);
            }
            "properties" => return self.check_properties(path, limit, facts, depth),
            "additionalProperties" => return self.check_additional(path, limit, facts, depth),
            "patternProperties" => return self.check_patterns(path, limit, facts, depth),
            "propertyNames" => {
                let names = limit.sub_or_any(keyword);
                let mut found = facts.iter().filter_map(|fact| fact.sub(keyword));
                names.is_any() || found.any(|found| self.covers(names, found, depth))
            }
            // `items` is checked with `prefixItems`, and `additionalItems` with `items`.
            "prefixItems" => return self.check_items(path, limit, facts, depth),
            "items" if limit.get("prefixItems").is_some() => return,
            "items" => return self.check_items(path, limit, facts, depth),
            "additionalItems" => return,
            "contains" => self.covers_contains(limit, facts, depth),
            "unevaluatedProperties" | "unevaluatedItems" => {
                self.covers_unevaluated(limit, keyword, facts, depth)
            }
            "anyOf" => self.covers_any_of(limit, facts, depth),
            "oneOf" => self.covers_one_of(limit, facts, depth),
            "not" => match limit.sub(keyword) {
                Some(rejected) => facts
                    .iter()
                    .filter_map(|fact| fact.sub(keyword))
                    .any(|found| {
                        // The narrow schema must reject every value that the wide schema rejects.
                        self.covers(found, rejected, depth)
                    }),
                None => false,
            },
            "if" => self.covers_condition(limit, facts, depth),
            known if WITHOUT_EFFECT.contains(&known) || CHECKED_ELSEWHERE.contains(&known) => true,
            extension if extension.starts_with("x-") => true,
            // Texts such as `pattern` and `format`, and unknown keywords.
            _ => some(&|fact| fact.get(keyword) == Some(value)),
        };
        if !is_covered {
            self.report(path, keyword);
        }
    }

    fn check_required(&mut self, path: &str, limit: Part<'_>, facts: &[Part<'_>]) {
        let known: HashSet<_> = facts
            .iter()
            .flat_map(|fact| fact.names("required"))
            .collect();
        for name in limit.names("required") {
            if known.contains(name) {
                continue;
            }
            let is_gone = facts.iter().all(|fact| fact.property(name).is_none());
            let path = format!("{path}.{name}");
            match self.side {
                Side::Params => self.add(BreakingChange::NewRequiredParam { path }),
                // `check_properties` reports a member that was removed.
                Side::Result if is_gone && limit.property(name).is_some() => {}
                Side::Result => self.add(BreakingChange::OptionalResult { path }),
            }
        }
    }

    fn check_properties(&mut self, path: &str, limit: Part<'_>, facts: &[Part<'_>], depth: usize) {
        for (name, wide) in limit.named("properties") {
            let path = format!("{path}.{name}");
            let found = facts.iter().filter_map(|fact| fact.property(name));
            let found: Vec<_> = found.collect();
            if !found.is_empty() {
                self.by_some(&found, |this, narrow| {
                    this.compare(&path, wide, narrow, depth);
                });
                continue;
            }
            if self.side == Side::Result {
                self.add(BreakingChange::RemovedResult { path });
                continue;
            }
            // A new optional member of an open object is not a break, see the module.
            let explicit = facts
                .iter()
                .filter_map(|fact| fact.sub("additionalProperties"));
            let explicit: Vec<_> = explicit.filter(|it| !it.is_any()).collect();
            self.by_some(&explicit, |this, narrow| {
                this.compare(&path, wide, narrow, depth);
            });
        }
    }

    /// Members that `limit` does not name: `additionalProperties`.
    fn check_additional(&mut self, path: &str, limit: Part<'_>, facts: &[Part<'_>], depth: usize) {
        let wide = limit.additional();
        if wide.is_any() {
            return;
        }
        let named = facts.iter().flat_map(|fact| fact.named("properties"));
        for (name, narrow) in named {
            if limit.property(name).is_some() || narrow.is_never() {
                continue;
            }
            let path = format!("{path}.{name}");
            match (self.side, wide.is_never()) {
                (Side::Params, true) => self.add(BreakingChange::RemovedParam { path }),
                (Side::Result, true) => self.report(&path, "additionalProperties"),
                (_, false) => self.compare(&path, wide, narrow, depth),
            }
        }
        let has_other_pattern = facts.iter().any(|fact| {
            let patterns = fact.named("patternProperties");
            let mut patterns = patterns.iter();
            patterns.any(|(pattern, _)| limit.member("patternProperties", pattern).is_none())
        });
        let mut facts = facts.iter();
        if has_other_pattern || !facts.any(|fact| self.covers(wide, fact.additional(), depth)) {
            self.report(path, "additionalProperties");
        }
    }

    fn check_patterns(&mut self, path: &str, limit: Part<'_>, facts: &[Part<'_>], depth: usize) {
        for (pattern, wide) in limit.named("patternProperties") {
            let found = facts
                .iter()
                .filter_map(|it| it.member("patternProperties", pattern));
            let found: Vec<_> = found.collect();
            if found.is_empty() && !wide.is_any() {
                self.report(path, "patternProperties");
            }
            let path = format!("{path}./{pattern}/");
            self.by_some(&found, |this, narrow| {
                this.compare(&path, wide, narrow, depth);
            });
        }
    }

    fn check_items(&mut self, path: &str, limit: Part<'_>, facts: &[Part<'_>], depth: usize) {
        let (wide_first, wide_rest) = limit.items();
        self.by_some(facts, |this, fact| {
            let (narrow_first, narrow_rest) = fact.items();
            for index in 0..wide_first.len().max(narrow_first.len()) {
                let wide = wide_first.get(index).copied().unwrap_or(wide_rest);
                let narrow = narrow_first.get(index).copied().unwrap_or(narrow_rest);
                this.compare(&format!("{path}[{index}]"), wide, narrow, depth);
            }
            this.compare(&format!("{path}[]"), wide_rest, narrow_rest, depth);
        });
    }

    fn check_dependents(
        &mut self,
        path: &str,
        limit: Part<'_>,
        keyword: &str,
        facts: &[Part<'_>],
        depth: usize,
    ) {
        for (name, wide) in limit.named(keyword) {
            let same_name = facts.iter().filter_map(|fact| fact.member(keyword, name));
            let same_name: Vec<_> = same_name.collect();
            let is_covered = match wide.value.as_array() {
                Some(names) => names.iter().all(|needed| {
                    let is_required = facts.iter().any(|fact| {
                        needed
                            .as_str()
                            .is_some_and(|it| fact.names("required").contains(&it))
                    });
                    let mut lists = same_name.iter().filter_map(|it| it.value.as_array());
                    is_required || lists.any(|list| list.contains(needed))
                }),
                None => same_name
                    .iter()
                    .any(|narrow| self.covers(wide, *narrow, depth)),
            };
            if !is_covered && !wide.is_any() {
                self.report(path, keyword);
            }
        }
    }
}

/// Whether a keyword can limit any value of the types that the facts allow.
fn applies(keyword: &str, facts: &[Part<'_>]) -> bool {
    let of: &[&str] = match limited_type(keyword) {
        Some("number") => &["number", "integer"],
        Some(name) => &[name],
        None => return true,
    };
    types(facts).is_none_or(|types| types.iter().any(|name| of.contains(name)))
}

/// Whether the limits of a fact are at least as strict as this limit of numbers.
fn is_within(fact: Part<'_>, keyword: &str, value: &Value) -> bool {
    let (plain, exclusive, inside) = match keyword {
        "minimum" | "exclusiveMinimum" => ("minimum", "exclusiveMinimum", Ordering::Greater),
        _ => ("maximum", "exclusiveMaximum", Ordering::Less),
    };
    let order = |name| fact.get(name).and_then(|it| compare(it, value));
    let is_excluded = matches!(order(exclusive), Some(it) if it == inside || it == Ordering::Equal);
    let is_inside = match order(plain) {
        Some(Ordering::Equal) => keyword == plain,
        Some(found) => found == inside,
        None => false,
    };
    // In draft 4, these keywords are booleans.
    is_excluded || is_inside || value.is_boolean() && fact.get(keyword) == Some(value)
}

fn is_at_least(fact: Part<'_>, keyword: &str, value: &Value) -> bool {
    let order = fact.get(keyword).and_then(|it| compare(it, value));
    order.is_some_and(Ordering::is_ge)
}

fn is_at_most(fact: Part<'_>, keyword: &str, value: &Value) -> bool {
    let order = fact.get(keyword).and_then(|it| compare(it, value));
    order.is_some_and(Ordering::is_le)
}
