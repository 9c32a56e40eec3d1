//! Sets of permissions.

/// Every permission of the product. A test compares this list with the list in `svc_core`.
pub const PERMISSIONS: [&str; 12] = [
    "use_spaces",
    "manage_spaces",
    "use_methods",
    "use_mcp",
    "manage_own_event_sinks",
    "manage_global_event_sinks",
    "manage_scripts",
    "manage_templates",
    "manage_users",
    "manage_groups",
    "manage_roles",
    "view_audit",
];

/// A set of permissions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Perms(pub u32);

impl Perms {
    pub const ALL: Self = Self((1 << PERMISSIONS.len()) - 1);

    pub fn of(names: &[&str]) -> Self {
        names.iter().fold(Self(0), |set, name| {
            let at = PERMISSIONS.iter().position(|known| known == name);
            Self(set.0 | 1 << at.unwrap_or_else(|| panic!("unknown permission `{name}`")))
        })
    }

    pub fn names(self) -> Vec<&'static str> {
        let held = |&(at, _): &(usize, &&str)| self.0 & (1 << at) != 0;
        let all = PERMISSIONS.iter().enumerate();
        all.filter(held).map(|(_, name)| *name).collect()
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.closed().0 & !other.closed().0)
    }

    /// Adds implied permissions: managing global sinks includes managing own ones.
    pub fn closed(self) -> Self {
        if self.0 & Self::of(&["manage_global_event_sinks"]).0 != 0 {
            self.union(Self::of(&["manage_own_event_sinks"]))
        } else {
            self
        }
    }

    pub fn covers(self, other: Self) -> bool {
        other.without(self).0 == 0
    }

    pub fn has(self, name: &str) -> bool {
        self.covers(Self::of(&[name]))
    }

    pub fn has_any(self, names: &[&str]) -> bool {
        names.is_empty() || names.iter().any(|name| self.has(name))
    }
}

impl std::fmt::Display for Perms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{{{}}}", self.names().join(", "))
    }
}
