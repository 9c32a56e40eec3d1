//! All tools as one JSON text, so that every page is a slice of it.

use std::{
    hash::{DefaultHasher, Hasher as _},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;

/// Tools on one page.
const PAGE_TOOLS_MAX: usize = 1_000;
/// Bytes of one page, unless a single tool is larger.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Clone, Default)]
pub struct List {
    /// The tools as JSON, separated by commas.
    text: Bytes,
    /// The position of each tool in `text`.
    ranges: Vec<Range<usize>>,
    digest: u64,
}

pub struct Page {
    /// Tools as JSON, separated by commas.
    pub tools: Bytes,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// The tools that are not listed because another tool has the same name, as a JSON array. Only
    /// on the first page.
    pub hidden: Option<Arc<str>>,
}

impl List {
    pub fn new<'a>(tools: impl Iterator<Item = &'a str>) -> Self {
        let (mut text, mut ranges) = (Vec::new(), Vec::new());
        for tool in tools {
            if !text.is_empty() {
                text.push(b',');
            }
            let start = text.len();
            text.extend_from_slice(tool.as_bytes());
            ranges.push(start..text.len());
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(&text);
        Self {
            text: text.into(),
            ranges,
            digest: hasher.finish(),
        }
    }

    /// Equal for equal lists.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// One tool as JSON.
    pub fn tool(&self, at: usize) -> &[u8] {
        &self.text[self.ranges[at].clone()]
    }

    /// The page that starts at tool `from`, and the start of the next page. A page has at least one
    /// tool, unless `from` is the end.
    pub fn page(&self, from: usize) -> (Bytes, usize) {
        let Some(first) = self.ranges.get(from) else {
            return (Bytes::new(), self.ranges.len());
        };
        let fits = |range: &Range<usize>| range.end - first.start <= PAGE_BYTES_MAX;
        let rest = &self.ranges[from..];
        let count = rest
            .iter()
            .take(PAGE_TOOLS_MAX)
            .take_while(|range| fits(range))
            .count()
            .max(1);
        let end = rest[count - 1].end;
        (self.text.slice(first.start..end), from + count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_a_thousand_tools_or_eight_mebibytes() {
        let tools: Vec<_> = (0..2_500).map(|n| format!("{{\"n\":{n}}}")).collect();
        let list = List::new(tools.iter().map(String::as_str));
        let (page, next) = list.page(0);
        assert_eq!(next, 1_000);
        assert!(page.starts_with(b"{\"n\":0},") && page.ends_with(b"{\"n\":999}"));
        let (page, next) = list.page(2_000);
        assert_eq!((next, page.ends_with(b"{\"n\":2499}")), (2_500, true));
        assert_eq!(list.page(2_500), (Bytes::new(), 2_500));

        let large = "x".repeat(PAGE_BYTES_MAX - 10);
        let list = List::new([large.as_str(), large.as_str()].into_iter());
        assert_eq!((list.page(0).1, list.page(1).1), (1, 2));
        let larger = "x".repeat(PAGE_BYTES_MAX + 10);
        assert_eq!(List::new([larger.as_str()].into_iter()).page(0).1, 1);
    }
}
