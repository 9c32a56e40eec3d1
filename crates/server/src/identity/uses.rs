//! Names the records that keep another record from being deleted.

use svc_store::scripts::Use;

use super::Caller;

/// The maximum number of names in one error.
const USES_NAMED: usize = 5;

/// Names some of the uses, and counts the others. Records of other users are named only if the
/// caller sees all of them (`sees_all`).
pub fn name_uses(caller: &Caller, sees_all: bool, uses: &[Use]) -> String {
    let known = |used: &&Use| sees_all || used.owner.is_none_or(|owner| owner == caller.user.id);
    let mut named: Vec<_> = uses
        .iter()
        .filter(known)
        .take(USES_NAMED)
        .map(|used| format!("{} `{}`", used.what, used.name))
        .collect();
    let others = uses.len() - named.len();
    if others > 0 {
        named.push(format!("{others} more"));
    }
    named.join(", ")
}
