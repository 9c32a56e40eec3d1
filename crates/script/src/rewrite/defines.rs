//! Does a script give itself a name? Told from its tokens alone, so that no depth of it matters.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer::lex};
use ruff_text_size::TextRange;

use super::normalize;

/// Whether the script may bind `name` at its top level: by `def`, `class`, `import`, an assignment,
/// a loop or the like. Where that cannot be told, it may; only a "no" is certain.
pub fn defines(text: &str, name: &str) -> bool {
    let text = normalize(text);
    let tokens = tokens(&text);
    let mut scan = Scan {
        text: &text,
        name,
        depth: 0,
        body_of: None,
    };
    (0..tokens.len()).any(|index| scan.binds(&tokens, index))
}

type Token = (TokenKind, TextRange);

/// Without comments and line ends that mean nothing.
fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = lex(text, Mode::Module);
    let mut tokens = Vec::new();
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return tokens,
            kind if kind.is_trivia() => {}
            kind => tokens.push((kind, lexer.current_range())),
        }
    }
}

struct Scan<'a> {
    text: &'a str,
    name: &'a str,
    depth: usize,
    /// How deep the outermost `def` or `class` stands whose body this is.
    body_of: Option<usize>,
}

impl Scan<'_> {
    fn binds(&mut self, tokens: &[Token], index: usize) -> bool {
        let (kind, range) = tokens[index];
        let kind_at = |index: usize| tokens.get(index).map(|(kind, _)| *kind);
        let before = index.checked_sub(1).and_then(kind_at);
        let after = kind_at(index + 1);
        match kind {
            TokenKind::Indent => self.depth += 1,
            TokenKind::Dedent => {
                self.depth = self.depth.saturating_sub(1);
                self.leave();
            }
            // A body in the same line ends with it.
            TokenKind::Newline if after != Some(TokenKind::Indent) => self.leave(),
            TokenKind::Def | TokenKind::Class if self.body_of.is_none() => {
                self.body_of = Some(self.depth);
            }
            TokenKind::Star => return before == Some(TokenKind::Import),
            TokenKind::Name if &self.text[range] == self.name => {
                return match self.body_of {
                    None => is_target(before, after),
                    Some(depth) if depth == self.depth => {
                        matches!(before, Some(TokenKind::Def | TokenKind::Class))
                    }
                    Some(_) => is_declared_global(&tokens[..index]),
                };
            }
            _ => {}
        }
        false
    }

    fn leave(&mut self) {
        self.body_of = self.body_of.filter(|depth| *depth < self.depth);
    }
}

/// `global a, main`.
fn is_declared_global(before: &[Token]) -> bool {
    let mut kinds = before.iter().rev().map(|(kind, _)| *kind);
    let first = kinds.find(|kind| !matches!(kind, TokenKind::Name | TokenKind::Comma));
    first == Some(TokenKind::Global)
}

fn is_target(before: Option<TokenKind>, after: Option<TokenKind>) -> bool {
    let opened = matches!(
        before,
        Some(
            TokenKind::Import
                | TokenKind::As
                | TokenKind::For
                | TokenKind::Comma
                | TokenKind::Lpar
                | TokenKind::Lsqb
                | TokenKind::Star
                | TokenKind::Case
        )
    );
    let assigned = matches!(
        after,
        Some(TokenKind::Equal | TokenKind::ColonEqual | TokenKind::Colon | TokenKind::Comma)
    );
    opened || assigned && before != Some(TokenKind::Dot)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_gives_a_script_its_main_is_seen() {
        for text in [
            "def main(params):\n    return 1\n",
            "async def main(params): return 1",
            "import os\r\n\r\ndef main(p):\r\n\treturn p\r\n",
            "main = lambda params: 1",
            "main: object = print",
            "a, main = 1, print",
            "(main) = print",
            "from words import shout as main",
            "from words import main",
            "from words import (\n    a,\n    main\n)",
            "from words import *",
            "def other(params): return 1\nmain = other",
            "def other(params):\n  return 1\n\n# more\nmain = other",
            "class A:\n  def b(self):\n    pass\ndef main(p): pass",
            "if True:\n  def main(p): pass\nelse:\n  main = print",
            "try:\n    from words import main\nexcept ImportError:\n    pass",
            "def set():\n    global a, main\n    main = 1\nset()",
            "@wraps\ndef main(p): pass",
        ] {
            assert!(defines(text, "main"), "{text}");
        }
    }

    #[test]
    fn a_script_without_one_is_told() {
        for text in [
            "",
            "print(1)",
            "def mains(params): pass",
            "# def main(params): pass",
            "'''\ndef main(params): pass\n'''",
            "class Tool:\n    def main(self, params):\n        return 1\n",
            "def make():\n    def main(params):\n        return 1\n    return main\n",
            "def make():\n    main = 1\n",
            "def make(main=1): main = 1\nprint(1)",
            "if x:\n  class A:\n    def main(self): pass\nprint(2)",
            "x.main = 1",
        ] {
            assert!(!defines(text, "main"), "{text}");
        }
    }

    #[test]
    fn neither_depth_nor_nonsense_harms_it() {
        let begun = Instant::now();
        for piece in [
            "(",
            "1+",
            "not ",
            "[",
            "{",
            "f'{",
            "\"",
            "\0",
            "if x:\n",
            "def ",
            "global ",
            "main ",
            " main,",
            "def x():\n global x",
            "\\\n",
            "é",
        ] {
            defines(&piece.repeat(256 * 1024 / piece.len()), "main");
        }
        let names = "def x():\n global y".to_owned() + &", main_".repeat(30_000);
        assert!(!defines(&names, "main"));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
