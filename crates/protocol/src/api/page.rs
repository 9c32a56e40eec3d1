//! Query parameters of every list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::Id;

use super::PAGE_MAX;

/// One page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PageQuery {
    /// Records on the page; 100 if absent.
    #[schemars(range(min = 1, max = PAGE_MAX))]
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[schemars(with = "Option<Id>")]
    pub cursor: Option<String>,
}
