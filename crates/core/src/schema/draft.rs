//! The drafts of JSON Schema.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Draft {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

/// Values of `$schema`, without a final `#`. The first is the newest.
pub(super) const DIALECTS: [(&str, Draft); 5] = [
    (
        "https://json-schema.org/draft/2020-12/schema",
        Draft::Draft2020,
    ),
    (
        "https://json-schema.org/draft/2019-09/schema",
        Draft::Draft2019,
    ),
    ("http://json-schema.org/draft-07/schema", Draft::Draft7),
    ("http://json-schema.org/draft-06/schema", Draft::Draft6),
    ("http://json-schema.org/draft-04/schema", Draft::Draft4),
];

impl Draft {
    /// The draft with this value of `$schema`.
    pub(super) fn named(dialect: &str) -> Option<Self> {
        let dialect = dialect.trim_end_matches('#');
        let found = DIALECTS.iter().find(|(name, _)| *name == dialect);
        found.map(|(_, draft)| *draft)
    }
}
