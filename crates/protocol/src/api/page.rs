//! Lists: the query parameters of a page, and the document of a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    App, AuditEntry, Grant, Group, OidcProvider, PAGE_MAX, Role, Schedule, Script, Session, Sink,
    Source, Space, Template, Token, User,
};

/// Query parameters that select one page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PageQuery {
    /// Records on the page; 100 if absent.
    #[schemars(range(min = 1, max = PAGE_MAX))]
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// The cursor of a list, by its path: the id after which the list goes on, and a mark of the list.
pub fn cursor_of(path: &str, id: &str) -> String {
    format!("{id}.{:08x}", mark_of(path))
}

/// The id in a cursor of this list; `None` for the cursor of another list.
pub fn id_of_cursor<'a>(path: &str, cursor: &'a str) -> Option<&'a str> {
    let (id, _) = cursor.rsplit_once('.')?;
    (cursor_of(path, id) == cursor).then_some(id)
}

/// FNV-1a.
fn mark_of(path: &str) -> u32 {
    path.bytes().fold(0x811c_9dc5, |mark, byte| {
        (mark ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// One page of records.
pub trait Listing: DeserializeOwned + Serialize + Send {
    type Item;
    /// Path of the list.
    const PATH: &'static str;

    fn items(&self) -> &[Self::Item];
    fn into_page(self) -> (Vec<Self::Item>, Option<String>);
    fn from_page(items: Vec<Self::Item>, next_cursor: Option<String>) -> Self;
}

/// Defines the document of each list: `{"<field>": [<item>, …], "next_cursor": …}`.
macro_rules! lists {
    ($($list:ident { $field:ident: $item:ident } at $path:literal;)*) => {$(
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        pub struct $list {
            pub $field: Vec<$item>,
            pub next_cursor: Option<String>,
        }

        impl Listing for $list {
            type Item = $item;
            const PATH: &'static str = $path;

            fn items(&self) -> &[Self::Item] {
                &self.$field
            }

            fn into_page(self) -> (Vec<Self::Item>, Option<String>) {
                (self.$field, self.next_cursor)
            }

            fn from_page($field: Vec<Self::Item>, next_cursor: Option<String>) -> Self {
                Self { $field, next_cursor }
            }
        }
    )*};
}

lists! {
    Users { users: User } at "/api/users";
    Groups { groups: Group } at "/api/groups";
    Roles { roles: Role } at "/api/roles";
    Tokens { tokens: Token } at "/api/tokens";
    Spaces { spaces: Space } at "/api/spaces";
    Templates { templates: Template } at "/api/templates";
    Sessions { sessions: Session } at "/api/auth/sessions";
    Audit { audit: AuditEntry } at "/api/audit";
    Grants { grants: Grant } at "/api/oauth/grants";
    Apps { apps: App } at "/api/oauth/clients";
    OidcProviders { providers: OidcProvider } at "/api/oidc/providers";
    Sinks { event_sinks: Sink } at "/api/event-sinks";
    Scripts { scripts: Script } at "/api/scripts";
    Sources { sources: Source } at "/api/sources";
    Schedules { schedules: Schedule } at "/api/schedules";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_valid_for_its_own_list_in_one_form_only() {
        let cursor = cursor_of("/api/users", "7.b");
        assert_eq!(id_of_cursor("/api/users", &cursor), Some("7.b"));
        assert_eq!(id_of_cursor("/api/groups", &cursor), None);
        let (id, mark) = cursor.rsplit_once('.').expect("a mark");
        for mark in [format!("+{mark}"), format!("0{mark}"), mark.to_uppercase()] {
            let other = format!("{id}.{mark}");
            assert_eq!(id_of_cursor("/api/users", &other), None, "{other}");
        }
    }
}
