//! Names the records that keep another record from being deleted.

use svc_core::Permission;
use svc_store::scripts::Use;

use super::Caller;

/// The maximum number of names in one error.
const USES_NAMED: usize = 5;

/// Names some of the uses that the caller may see, and counts the others.
pub fn name_uses(caller: &Caller, uses: &[Use]) -> String {
    let sees_spaces = caller.user.permissions.contains(Permission::ManageSpaces);
    let known = |used: &&Use| {
        let is_own = used.owner.is_none_or(|owner| owner == caller.user.id);
        is_own || used.what == "space" && sees_spaces
    };
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
