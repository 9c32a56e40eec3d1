//! Keywords with schemas of which only some apply to a value.

use serde_json::Value;

use super::{EVALUATING, is_at_least, is_at_most};
use crate::registration::compatibility::{
    Comparison,
    schema::{Part, Schema},
    values::{allows, is_same, types},
};

impl Comparison {
    pub(super) fn covers_any_of(
        &mut self,
        limit: Part<'_>,
        facts: &[Part<'_>],
        depth: usize,
    ) -> bool {
        let wide = limit.list("anyOf").unwrap_or_default();
        // A branch that covers any fact is enough. Otherwise each branch of the facts needs one.
        let covers_fact = |this: &mut Self| {
            let mut pairs = wide
                .iter()
                .flat_map(|wide| facts.iter().map(move |fact| (wide, fact)));
            pairs.any(|(wide, fact)| {
                !std::ptr::eq(wide.value, fact.value) && this.covers(*wide, *fact, depth)
            })
        };
        let branches = facts
            .iter()
            .flat_map(|fact| [fact.list("anyOf"), fact.list("oneOf")]);
        let branches: Vec<Vec<Schema<'_>>> = branches.flatten().collect();
        branches.iter().any(|narrow| {
            narrow
                .iter()
                .all(|narrow| wide.iter().any(|wide| self.covers(*wide, *narrow, depth)))
        }) || covers_fact(self)
    }

    /// A value must match exactly one branch, so a new branch is allowed only if its types differ
    /// from those of all other branches.
    pub(super) fn covers_one_of(
        &mut self,
        limit: Part<'_>,
        facts: &[Part<'_>],
        depth: usize,
    ) -> bool {
        let wide = limit.list("oneOf").unwrap_or_default();
        let are_apart = wide
            .iter()
            .enumerate()
            .all(|(index, branch)| wide[..index].iter().all(|other| is_apart(*branch, *other)));
        let branches: Vec<_> = facts.iter().filter_map(|fact| fact.list("oneOf")).collect();
        let is_same_list = branches.iter().any(|narrow| {
            narrow.len() == wide.len()
                && wide
                    .iter()
                    .zip(narrow)
                    .all(|(a, b)| self.equals(*a, *b, depth))
        });
        is_same_list
            || are_apart
                && (branches.iter().any(|narrow| {
                    narrow
                        .iter()
                        .all(|narrow| wide.iter().any(|wide| self.covers(*wide, *narrow, depth)))
                }) || wide
                    .iter()
                    .any(|wide| facts.iter().any(|fact| self.covers(*wide, *fact, depth))))
    }

    pub(super) fn covers_condition(
        &mut self,
        limit: Part<'_>,
        facts: &[Part<'_>],
        depth: usize,
    ) -> bool {
        if limit.sub("then").is_none() && limit.sub("else").is_none() {
            return true;
        }
        facts.iter().any(|fact| {
            let Some((wide, narrow)) = limit.sub("if").zip(fact.sub("if")) else {
                return false;
            };
            self.equals(wide, narrow, depth)
                && ["then", "else"].into_iter().all(|keyword| {
                    self.covers(limit.sub_or_any(keyword), fact.sub_or_any(keyword), depth)
                })
        })
    }

    pub(super) fn covers_contains(
        &mut self,
        limit: Part<'_>,
        facts: &[Part<'_>],
        depth: usize,
    ) -> bool {
        let one = Value::from(1);
        let least = limit.get("minContains").unwrap_or(&one);
        let has_least = !is_same(least, &Value::from(0));
        let most = limit.get("maxContains");
        let Some(wide) = limit.sub("contains") else {
            return false;
        };
        !has_least && most.is_none()
            || facts.iter().any(|fact| {
                let Some(narrow) = fact.sub("contains") else {
                    return false;
                };
                let is_enough = match fact.get("minContains") {
                    Some(_) => is_at_least(*fact, "minContains", least),
                    None => is_same(least, &one),
                };
                let is_limited = most.is_none_or(|most| is_at_most(*fact, "maxContains", most));
                (!has_least || is_enough)
                    && is_limited
                    && match most {
                        Some(_) => self.equals(wide, narrow, depth),
                        None => self.covers(wide, narrow, depth),
                    }
            })
    }

    /// `unevaluatedProperties` and `unevaluatedItems` depend on almost every other keyword, so these
    /// must not change at all.
    pub(super) fn covers_unevaluated(
        &mut self,
        limit: Part<'_>,
        keyword: &str,
        facts: &[Part<'_>],
        depth: usize,
    ) -> bool {
        let Some(wide) = limit.sub(keyword).filter(|it| !it.is_any()) else {
            return true;
        };
        facts.iter().any(|fact| {
            let is_unchanged = |keyword: &&str| limit.get(keyword) == fact.get(keyword);
            let mut names = fact.named("properties").into_iter();
            let narrow = match fact.sub("additionalProperties") {
                Some(additional) if keyword == "unevaluatedProperties" => Some(additional),
                _ => fact.sub(keyword),
            };
            EVALUATING.iter().all(is_unchanged)
                && names.all(|(name, _)| limit.property(name).is_some())
                && narrow.is_some_and(|narrow| self.covers(wide, narrow, depth))
        })
    }
}

/// Whether no value can match both schemas, because their types differ.
fn is_apart(a: Schema<'_>, b: Schema<'_>) -> bool {
    let types_of = |schema: Schema<'_>| types(&schema.parts()?);
    let Some((a, b)) = types_of(a).zip(types_of(b)) else {
        return false;
    };
    let overlaps = |name: &&str| allows(&b, name) || *name == "number" && b.contains(&"integer");
    !a.iter().any(overlaps)
}
