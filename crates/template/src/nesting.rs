//! Bounds how deeply a source nests, in one linear scan of its tokens.
//!
//! The parser, the code generator and the destructor of the syntax tree call themselves once for
//! each level of the tree, and a stack overflow ends the process. So this scan comes before the
//! parser. It counts every token that can add a level, wherever that token stands: the tree of an
//! expression is never deeper than the count.

use minijinja::{
    machinery::{Span, Token, Tokenizer},
    syntax::SyntaxConfig,
};

use super::{NAME, TemplateError, check::forbidden_block};

/// The maximum number of operators in one expression: `.`, `[`, `|`, `not`, `or`, `==`, `if` and so
/// on.
pub(crate) const OPERATORS_MAX: usize = 250;
/// The maximum depth of brackets. Smaller than [`OPERATORS_MAX`], because the parser needs about 15
/// stack frames for a bracket.
pub(crate) const BRACKETS_MAX: usize = 32;
/// The maximum depth of blocks; an `elif` counts as a block in the branch before it.
pub(crate) const BLOCKS_MAX: usize = 32;
/// The maximum number of bytes of a name. A look-up of a name costs one instruction, so a name must
/// be short.
pub(crate) const NAME_BYTES_MAX: usize = 255;

/// Checks a source before the parser reads it. An error of the lexer is left to the parser, which
/// reads the same tokens and reports it with its position.
pub(crate) fn check(
    source: &str,
    is_expression: bool,
    syntax: SyntaxConfig,
) -> Result<(), TemplateError> {
    let mut tokens = Tokenizer::new(source, NAME, is_expression, syntax);
    let mut scan = Scan::default();
    while let Ok(Some((token, span))) = tokens.next_token() {
        if let Err(why) = scan.read(&token) {
            return Err(refused(span, why));
        }
    }
    Ok(())
}

fn refused(span: Span, why: String) -> TemplateError {
    TemplateError::Refused {
        line: usize::from(span.start_line),
        column: usize::from(span.start_col) + 1,
        why,
    }
}

#[derive(Default)]
struct Scan {
    operators: usize,
    brackets: usize,
    /// For each open block: the block and its `elif`s.
    blocks: Vec<usize>,
    /// Whether the next token is the name of a block.
    is_block_name: bool,
}

impl Scan {
    fn read(&mut self, token: &Token<'_>) -> Result<(), String> {
        let is_block_name = std::mem::take(&mut self.is_block_name);
        match token {
            Token::VariableStart | Token::BlockStart => {
                self.operators = 0;
                self.brackets = 0;
                self.is_block_name = matches!(token, Token::BlockStart);
                return Ok(());
            }
            Token::Ident(name) if name.len() > NAME_BYTES_MAX => {
                return Err(format!(
                    "a name has {} bytes; at most {NAME_BYTES_MAX} are allowed",
                    name.len()
                ));
            }
            Token::Ident(name) if is_block_name => return self.block(name),
            Token::BracketOpen | Token::BraceOpen | Token::ParenOpen => self.brackets += 1,
            Token::BracketClose | Token::BraceClose | Token::ParenClose => {
                self.brackets = self.brackets.saturating_sub(1);
            }
            _ => {}
        }
        self.operators += usize::from(nests(token));
        if self.operators > OPERATORS_MAX {
            return Err(format!(
                "the expression has more than {OPERATORS_MAX} operators; compare with a list, as in `x in [1, 2]`, or make the expression shorter"
            ));
        }
        if self.brackets > BRACKETS_MAX {
            return Err(format!(
                "brackets are nested more than {BRACKETS_MAX} deep; make the expression simpler"
            ));
        }
        Ok(())
    }

    fn block(&mut self, name: &str) -> Result<(), String> {
        match name {
            "for" | "if" => self.blocks.push(1),
            "elif" => {
                if let Some(last) = self.blocks.last_mut() {
                    *last += 1;
                }
            }
            "endfor" | "endif" => drop(self.blocks.pop()),
            "else" => {}
            other => return Err(forbidden_block(other)),
        }
        match self.blocks.iter().sum::<usize>() > BLOCKS_MAX {
            true => Err(format!(
                "blocks are nested more than {BLOCKS_MAX} deep, `elif` included; make the template simpler"
            )),
            false => Ok(()),
        }
    }
}

/// Whether a token can add a level to the tree of its expression.
fn nests(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(name) => matches!(*name, "and" | "else" | "if" | "in" | "is" | "not" | "or"),
        Token::TemplateData(_)
        | Token::VariableStart
        | Token::VariableEnd
        | Token::BlockStart
        | Token::BlockEnd
        | Token::Str(_)
        | Token::String(_)
        | Token::Int(_)
        | Token::Int128(_)
        | Token::Float(_)
        | Token::Comma
        | Token::Colon
        | Token::BracketClose
        | Token::BraceClose
        | Token::ParenClose => false,
        // Every other token is an operator or an opening bracket.
        _ => true,
    }
}

#[cfg(test)]
mod tests;
