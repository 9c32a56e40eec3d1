//! Query parameters of every list.

use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PageQuery {
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}
