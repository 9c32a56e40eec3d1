//! Ranks tools for a query. The tool whose name is the query comes first. A word counts most in a
//! name, less in a title or keyword, and least in a description. Rare words count more than
//! frequent words. Tools with equal scores keep their order in the list of tools.

use std::collections::{BTreeMap, HashMap};

use crate::mcp::tools::Tool;

/// The weight of a word, by where it occurs.
const IN_NAME: f64 = 8.0;
const IN_KEYWORDS: f64 = 4.0;
const IN_DESCRIPTION: f64 = 1.0;
/// The factor for a word that only starts with the word of the query.
const AS_PREFIX: f64 = 0.4;
/// The score if the query is the tool's name.
const EXACT: f64 = 1e6;
/// A word of a query with at least this many characters also matches as a prefix.
const PREFIX_MIN: usize = 3;
/// The maximum number of words of a query. Further words are ignored.
const WORDS_MAX: usize = 32;
/// The maximum number of characters of a word. Further characters are ignored.
const WORD_MAX: usize = 64;

pub struct Index {
    /// For each word, the indexes of the tools that contain it, with its weight in each tool.
    words: BTreeMap<String, Vec<(usize, f64)>>,
    /// Indexes of tools by lower-case tool name, and by the name of the method or script.
    names: HashMap<String, usize>,
    tools: usize,
}

impl Index {
    pub fn new(tools: &[Tool]) -> Self {
        let mut words: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        let mut names = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            names.entry(tool.source_name().to_lowercase()).or_insert(at);
            names.insert(tool.name.to_lowercase(), at);
            let texts = [
                (tool.source_name(), IN_NAME),
                (tool.title().unwrap_or_default(), IN_KEYWORDS),
                (tool.description(), IN_DESCRIPTION),
            ];
            let keywords = tool
                .keywords()
                .iter()
                .map(|word| (word.as_str(), IN_KEYWORDS));
            let mut counts: HashMap<String, f64> = HashMap::new();
            for (text, worth) in texts.into_iter().chain(keywords) {
                for word in split(text) {
                    let count = counts.entry(word).or_default();
                    // The best occurrence counts in full, other occurrences count for less.
                    *count = count.max(worth) + count.min(worth) * 0.2;
                }
            }
            for (word, worth) in counts {
                words.entry(word).or_default().push((at, worth));
            }
        }
        Self {
            words,
            names,
            tools: tools.len(),
        }
    }

    /// The indexes of the tools that match a query, best first; all tools for an empty query.
    pub fn search(&self, query: &str) -> Vec<usize> {
        let query_words: Vec<_> = split(query).take(WORDS_MAX).collect();
        if query_words.is_empty() {
            return (0..self.tools).collect();
        }
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in &query_words {
            for (at, score) in self.score(word) {
                *scores.entry(at).or_default() += score;
            }
        }
        if let Some(at) = self.names.get(&query.trim().to_lowercase()) {
            *scores.entry(*at).or_default() += EXACT;
        }
        let mut ranked: Vec<_> = scores.into_iter().collect();
        ranked.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        ranked.into_iter().map(|(at, _)| at).collect()
    }

    /// The score of one word of a query for each tool. If several words of a tool match, the best
    /// match counts.
    fn score(&self, word: &str) -> HashMap<usize, f64> {
        let mut best: HashMap<usize, f64> = HashMap::new();
        let begins = |found: &str| found.starts_with(word);
        let range = self.words.range(word.to_owned()..);
        for (found, tools) in range.take_while(|(found, _)| begins(found)) {
            let is_whole = found == word;
            if !is_whole && word.chars().count() < PREFIX_MIN {
                break;
            }
            let factor = if is_whole { 1.0 } else { AS_PREFIX };
            let rarity = self.rarity(tools.len());
            for (at, worth) in tools {
                let score = best.entry(*at).or_default();
                *score = score.max(worth * factor * rarity);
            }
        }
        best
    }

    fn rarity(&self, matching: usize) -> f64 {
        let (all, matching) = (self.tools as f64, matching as f64);
        (1.0 + (all - matching + 0.5) / (matching + 0.5)).ln()
    }
}

/// Splits a text into words: at all characters except letters and digits, and before the capitals
/// of `camelCase`.
fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .flat_map(humps)
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.chars()
                .take(WORD_MAX)
                .collect::<String>()
                .to_lowercase()
        })
}

fn humps(word: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut before_is_small = false;
    for (at, character) in word.char_indices() {
        if character.is_uppercase() && before_is_small {
            starts.push(at);
        }
        before_is_small = character.is_lowercase();
    }
    starts.push(word.len());
    starts
        .windows(2)
        .map(|pair| &word[pair[0]..pair[1]])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use svc_core::ScriptId;

    use super::*;
    use crate::{mcp::tools::of_script, tables::ScriptTool};

    fn tool(name: &str, description: &str) -> Tool {
        let script = ScriptTool {
            id: ScriptId::NIL,
            name: name.to_owned(),
            is_own: true,
            description: description.to_owned(),
            params_schema: None,
            title: None,
            annotations: Default::default(),
        };
        of_script(&Arc::new(script)).tool
    }

    #[test]
    fn names_come_before_descriptions_and_the_exact_name_before_all() {
        let tools = [
            tool("deploy.app", "Ships a version"),
            tool("notes.search", "Finds notes"),
            tool("search", "Looks up anything"),
            tool("web.crawl", "Search the web, search it all"),
            tool("searchEngine.restart", "Restarts it"),
        ];
        let index = Index::new(&tools);
        let check = |query: &str, expected: &[&str]| {
            let found = index.search(query);
            let names: Vec<_> = found.iter().map(|at| tools[*at].source_name()).collect();
            assert_eq!(names, expected, "{query}");
        };
        check(
            "search",
            &[
                "search",
                "notes.search",
                "searchEngine.restart",
                "web.crawl",
            ],
        );
        check(
            "NOTES_SEARCH",
            &[
                "notes.search",
                "search",
                "searchEngine.restart",
                "web.crawl",
            ],
        );
        check("engine", &["searchEngine.restart"]);
        check("ver", &["deploy.app"]);
        check("nothing like it", &["web.crawl", "searchEngine.restart"]);
        assert_eq!(index.search(""), [0, 1, 2, 3, 4]);
    }
}
