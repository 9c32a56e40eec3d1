//! The groups of reader threads, and the cost limit of their statements.

use super::{connection::Access, handle::StoreOptions};

/// The default of [`StoreOptions::point_steps`]: about 10 ms. A page of a list takes a tenth.
pub(super) const POINT_STEPS_MAX: u32 = 500_000;

/// A group of reader threads. Reads of one group never wait for another group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadPool {
    /// Small reads: see [`Store::read`](crate::Store::read).
    Point,
    /// Reads for the delivery of events.
    Delivery,
    /// Long lists: see [`Store::read_list`](crate::Store::read_list).
    History,
    /// Whole tables: see [`Store::read_table`](crate::Store::read_table).
    Tables,
}

impl ReadPool {
    pub(super) const ALL: [Self; 4] = [Self::Point, Self::Delivery, Self::History, Self::Tables];

    pub(super) fn threads(self, options: &StoreOptions) -> usize {
        match self {
            Self::Point => options.readers,
            Self::Delivery => DELIVERY_READERS,
            Self::History => HISTORY_READERS,
            Self::Tables => TABLE_READERS,
        }
    }

    pub(super) fn access(self) -> Access {
        match self {
            Self::Point => Access::ReadPoint,
            Self::Delivery | Self::History | Self::Tables => Access::Read,
        }
    }
}

/// Threads that read for the delivery of events.
const DELIVERY_READERS: usize = 2;
/// Threads that read long lists.
const HISTORY_READERS: usize = 1;
/// Threads that read whole tables.
const TABLE_READERS: usize = 1;
