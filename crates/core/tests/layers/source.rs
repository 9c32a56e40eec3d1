//! Finds the imports of a Rust file by text search, which suffices for code formatted by `rustfmt`.

use std::collections::BTreeMap;

/// A path that begins at the root of the crate.
#[derive(PartialEq, Eq, Debug)]
pub struct Import {
    pub line: usize,
    /// First part of the path: a module, or a name that `lib.rs` re-exports.
    pub name: String,
}

const TEST: &str = "#[cfg(test)]";

/// The paths in `text` that begin at the root of the crate: with `crate::`, or with `depth` times
/// `super::`. `text` must come from [`without_tests`].
pub fn imports(text: &str, depth: usize) -> Vec<Import> {
    let mut found = Vec::new();
    let chain = "super::".repeat(depth);
    for prefix in ["crate::", &chain] {
        for (at, _) in text.match_indices(prefix) {
            let is_part = text[..at].ends_with(|c: char| is_name(c) || c == ':' || c == '$');
            if !is_part {
                first_names(text, at + prefix.len(), &mut found);
            }
        }
    }
    found
}

/// The names that `lib.rs` re-exports, and the modules they come from.
pub fn re_exports(lib: &str) -> BTreeMap<String, String> {
    let lib = blank_texts(lib);
    let mut exported = BTreeMap::new();
    for statement in lib.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let (module, names) = statement.split_once("::").unwrap_or((statement, ""));
        let names = names.split(|c: char| !is_name(c));
        let names = names.filter(|name| !name.is_empty());
        exported.extend(names.map(|name| (name.to_owned(), module.trim().to_owned())));
    }
    exported
}

/// Modules that a file declares for tests: `#[cfg(test)] mod name;`.
pub fn test_modules(text: &str) -> Vec<String> {
    let text = blank_texts(text);
    let declared = text.match_indices(TEST).filter_map(|(at, _)| {
        let item = &text[at..item_end(&text, at)];
        let (_, name) = item.strip_suffix(';')?.rsplit_once("mod ")?;
        Some(name.trim().to_owned())
    });
    declared.collect()
}

/// Replaces comments, literals and items of tests by spaces, so that line numbers do not change.
pub fn without_tests(text: &str) -> String {
    let mut text = blank_texts(text);
    while let Some(at) = text.find(TEST) {
        let end = item_end(&text, at);
        let blank = blank(&text[at..end]);
        text.replace_range(at..end, &blank);
    }
    text
}

/// Adds the first name of the path at `start`. For a group `{…}`, adds the first name of each path
/// in the group.
fn first_names(text: &str, start: usize, found: &mut Vec<Import>) {
    let mut add = |at: usize| {
        let name = text[at..].chars().take_while(|c| is_name(*c));
        let name: String = name.collect();
        if !name.is_empty() && name != "self" {
            let line = text[..at].matches('\n').count() + 1;
            found.push(Import { line, name });
        }
    };
    if !text[start..].starts_with('{') {
        return add(start);
    }
    let (mut depth, mut is_first) = (0, false);
    for (at, c) in text[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return;
        }
        if depth == 1 && matches!(c, '{' | ',') {
            is_first = true;
        } else if is_first && is_name(c) {
            add(start + at);
            is_first = false;
        }
    }
}

/// The end of the item whose attributes begin at `at`: its `;`, or the end of its block.
fn item_end(text: &str, at: usize) -> usize {
    let (mut depth, mut is_block) = (0, false);
    for (offset, c) in text[at..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            '{' => (depth, is_block) = (depth + 1, is_block || depth == 0),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        let is_end = depth == 0 && (c == ';' || c == '}' && is_block);
        if is_end {
            return at + offset + 1;
        }
    }
    text.len()
}

/// Replaces comments and literals by spaces.
fn blank_texts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // The `b` of `br"…"` belongs to the literal and does not end a name.
        let before = out.strip_suffix('b').unwrap_or(&out);
        let length = literal(rest, before.ends_with(is_name)).unwrap_or_default();
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.push_str(&blank(&rest[..length]));
            rest = &rest[length..];
        }
    }
    out
}

/// The length of the comment or literal that `rest` begins with. `is_after_name` is whether a name
/// ends just before `rest`: then an `r` belongs to that name.
fn literal(rest: &str, is_after_name: bool) -> Option<usize> {
    let until = |end: &str, from: usize| match rest[from..].find(end) {
        Some(at) => from + at + end.len(),
        None => rest.len(),
    };
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(until("*/", 2));
    }
    if rest.starts_with("r\"") || rest.starts_with("r#") {
        let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
        let is_text = !is_after_name && rest[1 + hashes..].starts_with('"');
        return is_text.then(|| until(&format!("\"{}", "#".repeat(hashes)), hashes + 2));
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut inner = rest[1..].char_indices();
    let (_, first) = inner.next()?;
    // A lifetime has no closing quote.
    if quote == '\'' && first != '\\' && !rest[1 + first.len_utf8()..].starts_with('\'') {
        return None;
    }
    let mut is_escaped = false;
    for (at, c) in rest[1..].char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 2),
            _ => {}
        }
    }
    Some(rest.len())
}

fn blank(text: &str) -> String {
    let keep = |c| if c == '\n' { c } else { ' ' };
    text.chars().map(keep).collect()
}

pub fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
