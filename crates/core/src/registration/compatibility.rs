//! Which changes of a method break its callers.
//!
//! The rule for params: the new schema must accept every value that the old schema accepts. The rule
//! for results: the old schema must accept every value that the new schema accepts. So both sides
//! ask whether one schema, the wide one, covers another, the narrow one. A change that cannot be
//! compared counts as a break. Two habits of APIs are exceptions: a new optional member may have a
//! schema, although callers could already send any value in it, and a member that the old result
//! declared must stay, even if it was optional.

mod keywords;
mod schema;
mod values;

use std::{collections::HashSet, fmt, ptr};

use serde_json::Value;

use self::schema::{Part, Root, Schema};

/// The maximum number of levels of a schema that are compared.
const DEPTH_MAX: usize = 64;
/// The maximum number of changes of one method that are reported.
const CHANGES_MAX: usize = 50;
/// The maximum number of comparisons, so that a large schema takes little time.
const COMPARISONS_MAX: usize = 20_000;

/// The schemas of a method; `None` means any value.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MethodSchemas<'a> {
    pub params: Option<&'a Value>,
    pub result: Option<&'a Value>,
}

/// A change that breaks callers. `path` is the path of the value, such as `params.text`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BreakingChange {
    /// The caller must send a value that was not required.
    NewRequiredParam { path: String },
    /// A value that callers may send is not accepted any more.
    RemovedParam { path: String },
    /// Some values may not be accepted any more, because of this keyword of the schema.
    NarrowerParam { path: String, keyword: String },
    /// A value that callers may read was removed.
    RemovedResult { path: String },
    /// A value that was always there may be missing.
    OptionalResult { path: String },
    /// A value may be one that callers do not expect, because of this keyword of the schema.
    WiderResult { path: String, keyword: String },
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewRequiredParam { path } => write!(f, "`{path}` is required now"),
            Self::RemovedParam { path } => write!(f, "`{path}` is not accepted any more"),
            Self::NarrowerParam { path, keyword } => {
                write!(f, "`{path}` may accept fewer values (`{keyword}`)")
            }
            Self::RemovedResult { path } => write!(f, "`{path}` was removed"),
            Self::OptionalResult { path } => write!(f, "`{path}` may be missing now"),
            Self::WiderResult { path, keyword } => {
                write!(f, "`{path}` may have other values now (`{keyword}`)")
            }
        }
    }
}

/// Lists the changes from `old` to `new` that break callers of the old method.
pub fn breaking_changes(old: MethodSchemas<'_>, new: MethodSchemas<'_>) -> Vec<BreakingChange> {
    let mut changes = compare(Side::Params, "params", new.params, old.params);
    changes.extend(compare(Side::Result, "result", old.result, new.result));
    changes.truncate(CHANGES_MAX);
    changes
}

fn compare(
    side: Side,
    path: &str,
    wide: Option<&Value>,
    narrow: Option<&Value>,
) -> Vec<BreakingChange> {
    if wide == narrow {
        return Vec::new();
    }
    let any = Value::Bool(true);
    let (wide, narrow) = (
        Root::new(wide.unwrap_or(&any)),
        Root::new(narrow.unwrap_or(&any)),
    );
    let mut comparison = Comparison {
        side,
        changes: Vec::new(),
        compared: HashSet::new(),
        order: Vec::new(),
        left: COMPARISONS_MAX,
    };
    comparison.compare(path, wide.schema(), narrow.schema(), 0);
    comparison.changes
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Params,
    Result,
}

/// The addresses of a wide and of a narrow schema.
type Pair = (*const Value, *const Value);

struct Comparison {
    side: Side,
    changes: Vec<BreakingChange>,
    /// Pairs that were compared, or that are being compared. A reference may lead to the same pair
    /// again.
    compared: HashSet<Pair>,
    /// The same pairs in the order in which they were added.
    order: Vec<Pair>,
    /// The number of comparisons that are still allowed.
    left: usize,
}

impl Comparison {
    /// Adds a change for each reason why `wide` may not accept a value that `narrow` accepts.
    fn compare(&mut self, path: &str, wide: Schema<'_>, narrow: Schema<'_>, depth: usize) {
        if wide.is_any() || self.changes.len() >= CHANGES_MAX {
            return;
        }
        let pair = (ptr::from_ref(wide.value), ptr::from_ref(narrow.value));
        if !self.compared.insert(pair) {
            return;
        }
        self.order.push(pair);
        let (limits, facts) = (wide.parts(), narrow.parts());
        let (Some(limits), Some(facts)) = (limits, facts) else {
            return self.report(path, "$ref");
        };
        if facts.iter().any(|part| part.is_never()) {
            return;
        }
        if self.left == 0 || depth >= DEPTH_MAX {
            return self.report(path, "a schema that is too large to compare");
        }
        self.left -= 1;
        if limits.iter().any(|part| part.is_never()) {
            return self.report(path, "false");
        }
        let before = self.changes.len();
        for limit in &limits {
            self.check_type(path, *limit, &facts);
        }
        // A value of another type has no members in common that would be worth a report.
        if self.changes.len() > before {
            return;
        }
        for limit in &limits {
            for keyword in limit.keywords() {
                self.check_keyword(path, *limit, keyword, &facts, depth + 1);
            }
        }
    }

    /// Whether `wide` accepts every value that `narrow` accepts. Reports nothing.
    fn covers(&mut self, wide: Schema<'_>, narrow: Schema<'_>, depth: usize) -> bool {
        self.attempt(|this| this.compare("", wide, narrow, depth))
    }

    /// Whether two schemas accept the same values.
    fn equals(&mut self, a: Schema<'_>, b: Schema<'_>, depth: usize) -> bool {
        self.covers(a, b, depth) && self.covers(b, a, depth)
    }

    /// Makes comparisons, and removes the changes that they report. Returns whether there are none.
    fn attempt(&mut self, comparisons: impl FnOnce(&mut Self)) -> bool {
        let (changes, pairs) = (self.changes.len(), self.order.len());
        comparisons(self);
        let is_covered = self.changes.len() == changes;
        if !is_covered {
            self.changes.truncate(changes);
            // Results of comparisons inside the failed pair may depend on that pair.
            for pair in self.order.drain(pairs..) {
                self.compared.remove(&pair);
            }
        }
        is_covered
    }

    /// One part of a narrow schema is enough to cover a limit, because a value must satisfy every
    /// part. If no part is enough, reports the changes for the first part.
    fn by_some(&mut self, facts: &[Part<'_>], compare: impl Fn(&mut Self, Part<'_>)) {
        let is_covered =
            |this: &mut Self, fact: &Part<'_>| this.attempt(|this| compare(this, *fact));
        if facts.len() > 1 && facts.iter().any(|fact| is_covered(self, fact)) {
            return;
        }
        if let Some(first) = facts.first() {
            compare(self, *first);
        }
    }

    fn report(&mut self, path: &str, keyword: &str) {
        let (path, keyword) = (path.to_owned(), keyword.to_owned());
        self.add(match self.side {
            Side::Params => BreakingChange::NarrowerParam { path, keyword },
            Side::Result => BreakingChange::WiderResult { path, keyword },
        });
    }

    fn add(&mut self, change: BreakingChange) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

#[cfg(test)]
mod tests;
