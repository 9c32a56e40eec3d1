//! Reads one JavaScript module and turns it into the body of a function.
//!
//! The sources are formatted by a linter, so only a few forms of `import` and `export` occur. Any
//! other form is an error that names the file and the line.
//!
//! - Imports become constants: `const { a, b: c } = $src_lib_api;`. There are no live bindings:
//!   an imported name must never change, so an exported `let` is an error.
//! - Exports become the value that the function returns.
//! - Comments are removed. Lines are kept, so that a line number in the function is a line number
//!   in the source.

use std::{collections::BTreeMap, ops::Range};

use super::mask::{Fault, LITERAL, is_word_byte, mask};

/// A module as the body of a function.
#[derive(Debug)]
pub struct Module {
    pub body: String,
    /// The statically imported names, in the order of the source.
    pub imports: Vec<Import>,
    /// The expression of each exported name.
    pub exports: BTreeMap<String, String>,
    /// The modules of `import(…)`; `*` is any name.
    pub loads: Vec<String>,
    /// Whether the module has an `await` outside of functions.
    pub awaits: bool,
}

#[derive(Debug, PartialEq)]
pub struct Import {
    /// The path of the imported module.
    pub path: String,
    pub name: String,
    pub line: usize,
}

/// The name of the constant that has the exports of a module.
pub fn variable(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let name = path.strip_suffix(".js").unwrap_or(path);
    format!("${}", name.replace(|c| !is_plain(c), "_"))
}

/// A member of an object, in its short form if there is one.
pub fn member(name: &str, value: &str) -> String {
    if name == value {
        return name.to_owned();
    }
    format!("{name}: {value}")
}

/// The path that a specifier in the module `path` means.
pub fn resolve(path: &str, specifier: &str) -> String {
    if let Some(path) = specifier.strip_prefix("/web/") {
        return path.to_owned();
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

pub fn parse(path: &str, text: &str) -> Result<Module, String> {
    let located = |(at, message): Fault| {
        let line = text[..at].matches('\n').count() + 1;
        format!("web/app/{path}:{line}: {message}")
    };
    let masked = mask(text).map_err(located)?;
    let mut parser = Parser {
        path,
        text,
        code: masked.code,
        edits: Vec::new(),
        module: Module {
            body: String::new(),
            imports: Vec::new(),
            exports: BTreeMap::new(),
            loads: Vec::new(),
            awaits: false,
        },
    };
    for comment in masked.comments {
        parser.edit(comment, String::new());
    }
    parser.read().map_err(located)?;
    Ok(parser.finish())
}

fn is_name(text: &str) -> bool {
    let starts_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
    !text.is_empty() && !starts_with_digit && text.bytes().all(is_word_byte)
}

struct Parser<'a> {
    path: &'a str,
    text: &'a str,
    code: String,
    /// Ranges of the text and their replacements.
    edits: Vec<(Range<usize>, String)>,
    module: Module,
}

impl Parser<'_> {
    fn read(&mut self) -> Result<(), Fault> {
        for at in self.words("import") {
            let rest = &self.code[at + "import".len()..];
            if rest.starts_with(".meta.url") {
                let end = at + "import.meta.url".len();
                self.edit(at..end, format!("($root + '{}')", self.path));
            } else if rest.starts_with('(') {
                self.dynamic_import(at)?;
            } else {
                self.static_import(at)?;
            }
        }
        for at in self.words("export") {
            self.export(at)?;
        }
        let awaits = self.words("await");
        self.module.awaits = awaits.into_iter().any(|at| self.depth(at) == 0);
        Ok(())
    }

    /// Where a word occurs in the code.
    fn words(&self, word: &str) -> Vec<usize> {
        let code = self.code.as_bytes();
        let found = self.code.match_indices(word).map(|(at, _)| at);
        let is_whole = |at: &usize| {
            let before = at.checked_sub(1).map(|before| code[before]);
            let after = code.get(at + word.len());
            !before.is_some_and(|byte| byte == b'.' || is_word_byte(byte))
                && !after.is_some_and(|byte| is_word_byte(*byte))
        };
        found.filter(is_whole).collect()
    }

    /// The number of brackets that are open at `at`.
    fn depth(&self, at: usize) -> usize {
        let count = |brackets: [char; 3]| self.code[..at].matches(brackets).count();
        count(['{', '(', '[']).saturating_sub(count(['}', ')', ']']))
    }

    /// Replaces a range of the text, and keeps its lines.
    fn edit(&mut self, range: Range<usize>, by: String) {
        let lines = self.text[range.clone()].matches('\n').count();
        let by = by + &"\n".repeat(lines);
        self.edits
            .push((range, if by.is_empty() { " ".to_owned() } else { by }));
    }

    /// `import('./a.js')` and ``import(`./pages/${name}.js`)``.
    fn dynamic_import(&mut self, at: usize) -> Result<(), Fault> {
        let unknown = || {
            let known = "import('./a.js') and import(`./a/${name}.js`)";
            (
                at,
                format!("this form of `import(…)` is not known: write one of {known}"),
            )
        };
        let start = at + "import(".len();
        let end = start + self.code[start..].find(')').ok_or_else(unknown)?;
        let argument = &self.text[start..end];
        let quote = argument.chars().next().filter(|c| matches!(c, '\'' | '`'));
        let quote = quote.ok_or_else(unknown)?;
        let inner = argument[1..].strip_suffix(quote).ok_or_else(unknown)?;
        if !inner.starts_with('.') || !inner.ends_with(".js") {
            return Err(unknown());
        }
        let path = resolve(self.path, inner);
        let pattern = match path.split_once("${") {
            None => path.clone(),
            Some((before, rest)) => match rest.split_once('}') {
                Some((name, after)) if is_name(name) && !after.contains("${") => {
                    format!("{before}*{after}")
                }
                _ => return Err(unknown()),
            },
        };
        self.module.loads.push(pattern);
        self.edit(start..end, format!("$root + {quote}{path}{quote}"));
        Ok(())
    }

    /// `import { a, b as c } from './a.js';` and `import a from './a.js';`.
    fn static_import(&mut self, at: usize) -> Result<(), Fault> {
        let known = "write `import { a, b as c } from '…';` or `import a from '…';`";
        let unknown = || (at, format!("this form of `import` is not known: {known}"));
        let end = self.statement_end(at)?;
        let (clause, path) = self.source(at + "import".len()..end).ok_or_else(unknown)?;
        let names = match names(&clause) {
            Some(names) => names,
            None if is_name(&clause) => vec![("default".to_owned(), clause)],
            None => return Err(unknown()),
        };
        let parts: Vec<String> = names
            .iter()
            .map(|(name, local)| member(name, local))
            .collect();
        for (name, _) in names {
            self.import(at, &path, name);
        }
        let by = format!("const {{ {} }} = {};", parts.join(", "), variable(&path));
        self.edit(at..end + 1, by);
        Ok(())
    }

    fn export(&mut self, at: usize) -> Result<(), Fault> {
        let unknown = |why: &str| (at, format!("this form of `export` is not known: {why}"));
        if self.depth(at) > 0 {
            return Err(unknown("it must not be inside `()`, `[]` or `{}`"));
        }
        let after = at + "export".len();
        let rest = self.code[after..].trim_start();
        if rest.starts_with('{') {
            return self.export_names(at);
        }
        let (is_default, declared) = match rest.strip_prefix("default") {
            Some(declared) => (true, declared.trim_start()),
            None => (false, rest),
        };
        let start = self.code.len() - declared.len();
        let name = declared_name(declared);
        match name {
            Some(name) if is_default => {
                self.module.exports.insert("default".to_owned(), name);
                self.edit(at..start, String::new());
            }
            None if is_default => {
                let by = "const $default = ".to_owned();
                self.module
                    .exports
                    .insert("default".to_owned(), "$default".to_owned());
                self.edit(at..start, by);
            }
            Some(name) => {
                self.module.exports.insert(name.clone(), name);
                self.edit(at..start, String::new());
            }
            None => {
                let why = "write `export const NAME`, `export function` or `export class`; a name that changes cannot be exported";
                return Err(unknown(why));
            }
        }
        Ok(())
    }

    /// `export { a, b as c } from './a.js';`, and without `from` in `vendor/`.
    fn export_names(&mut self, at: usize) -> Result<(), Fault> {
        let unknown = |why: &str| (at, format!("this form of `export` is not known: {why}"));
        let end = self.statement_end(at)?;
        let range = at + "export".len()..end;
        if let Some((clause, path)) = self.source(range.clone()) {
            let names = names(&clause).ok_or_else(|| unknown("write `export { a } from '…';`"))?;
            for (name, exported) in names {
                let value = format!("{}.{name}", variable(&path));
                self.module.exports.insert(exported, value);
                self.import(at, &path, name);
            }
        } else {
            // Our own modules export where they declare, so that the kind of declaration is known.
            if !self.path.starts_with("vendor/") {
                return Err(unknown("write `export` before the declaration"));
            }
            let names =
                names(self.code[range].trim()).ok_or_else(|| unknown("write `export { a };`"))?;
            for (local, exported) in names {
                self.module.exports.insert(exported, local);
            }
        }
        self.edit(at..end + 1, String::new());
        Ok(())
    }

    fn import(&mut self, at: usize, path: &str, name: String) {
        let line = self.text[..at].matches('\n').count() + 1;
        let path = path.to_owned();
        self.module.imports.push(Import { path, name, line });
    }

    fn statement_end(&self, at: usize) -> Result<usize, Fault> {
        if self.depth(at) > 0 {
            return Err((
                at,
                "this statement must not be inside `()`, `[]` or `{}`".to_owned(),
            ));
        }
        let end = self.code[at..].find(';').map(|end| at + end);
        end.ok_or_else(|| (at, "this statement has no `;`".to_owned()))
    }

    /// Splits `… from '…'` into the part before `from` and the path.
    fn source(&self, range: Range<usize>) -> Option<(String, String)> {
        let code = &self.code[range.clone()];
        let (clause, literal) = code.rsplit_once("from")?;
        let start = range.end - literal.trim_start().len();
        let specifier = self.text[start..range.end]
            .trim_end()
            .trim_matches(['\'', '"']);
        let is_literal = literal.trim().bytes().all(|byte| byte == LITERAL);
        let is_path = specifier.starts_with(['.', '/']) && specifier.ends_with(".js");
        (is_literal && is_path).then(|| (clause.trim().to_owned(), resolve(self.path, specifier)))
    }

    fn finish(mut self) -> Module {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut body = String::new();
        let mut done = 0;
        for (range, by) in &self.edits {
            // A comment inside of a statement that was replaced is gone already.
            if range.start < done {
                continue;
            }
            body += &self.text[done..range.start];
            body += by;
            done = range.end;
        }
        self.module.body = body + &self.text[done..];
        self.module
    }
}

/// The pairs of `{ a, b as c }`.
fn names(clause: &str) -> Option<Vec<(String, String)>> {
    let inner = clause.strip_prefix('{')?.strip_suffix('}')?;
    let parts = inner
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words[..] {
                [name] if is_name(name) => Some((name.to_owned(), name.to_owned())),
                [name, "as", other] if is_name(name) && is_name(other) => {
                    Some((name.to_owned(), other.to_owned()))
                }
                _ => None,
            }
        })
        .collect()
}

/// The name in `function name`, `async function name`, `class name` or `const name`.
fn declared_name(code: &str) -> Option<String> {
    let code = code.strip_prefix("async ").unwrap_or(code);
    let rest = ["function ", "class ", "const "]
        .iter()
        .find_map(|keyword| code.strip_prefix(keyword))?;
    let end = rest.bytes().position(|byte| !is_word_byte(byte))?;
    is_name(&rest[..end]).then(|| rest[..end].to_owned())
}

#[cfg(test)]
#[path = "module_tests.rs"]
mod tests;
