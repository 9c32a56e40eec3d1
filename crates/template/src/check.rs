//! The part of the template language that is allowed: values, `for`, `if`, some filters and tests.
//!
//! This module must reject everything that can create a value larger than its inputs: `set`, calls,
//! arithmetic (`+`, `~` and `*` join and repeat text), and lists that are not constant. It must run
//! before the compilation, because the compiler evaluates constants such as `"x" * 999999999`. The
//! module `nesting` bounds the depth of the tree, and the module `program` charges for the rest.

use minijinja::{
    machinery::{
        Span,
        ast::{BinOpKind, CallArg, Expr, ForLoop, Stmt},
        parse, parse_expr,
    },
    syntax::SyntaxConfig,
};

use super::{
    TemplateError,
    filters::{FILTERS, TESTS},
    nesting,
};

/// The variables of an expression; the same as in a template.
const VARIABLES: [&str; 4] = ["event", "space", "actor", "custom"];

/// Parses and checks a template.
pub(crate) fn template(source: &str) -> Result<Stmt<'_>, TemplateError> {
    reject_raw_blocks(source)?;
    let syntax = super::syntax();
    nesting::check(source, false, syntax.clone())?;
    let root = parse(source, super::NAME, syntax).map_err(|error| parse_error(source, &error))?;
    Check { variables: None }.statement(&root)?;
    Ok(root)
}

/// Parses and checks an expression without delimiters, such as the filter of a sink.
pub(crate) fn expression(source: &str) -> Result<Expr<'_>, TemplateError> {
    nesting::check(source, true, SyntaxConfig::default())?;
    let expr = parse_expr(source).map_err(|error| expression_error(source, &error))?;
    let variables = Some(&VARIABLES[..]);
    Check { variables }.expression(&expr)?;
    Ok(expr)
}

/// An error of the parser in an expression, with its line and column.
fn expression_error(source: &str, error: &minijinja::Error) -> TemplateError {
    let (line, column, near) = position(source, error);
    let what = match near.trim() {
        "" => "the expression ends too early".to_owned(),
        near => format!("`{near}` cannot be read here"),
    };
    let why =
        format!("{what}; write an expression such as `event.data.ok == false` or `event.data.id`");
    TemplateError::Refused { line, column, why }
}

/// The maximum number of characters of the source that an error shows.
const NEAR_MAX: usize = 20;

/// An error of the parser with its line and column.
fn parse_error(source: &str, error: &minijinja::Error) -> TemplateError {
    let (line, column, near) = position(source, error);
    let what = match near.trim() {
        "" => "the template ends inside an expression or a block".to_owned(),
        near => format!("`{near}` cannot be read here"),
    };
    let why = format!(
        "{what}; write values as `${{{{ event.type }}}}`, blocks as `{{% for x in … %}} … {{% endfor %}}` or `{{% if … %}} … {{% endif %}}`, and close each of them"
    );
    TemplateError::Refused { line, column, why }
}

/// Line and column of an error, and the text that follows.
fn position(source: &str, error: &minijinja::Error) -> (usize, usize, String) {
    let (line, column) = match error.range() {
        Some(range) => line_and_column(source, range.start),
        None => (error.line().unwrap_or(1), 1),
    };
    let near = error.range().and_then(|range| source.get(range.start..));
    let near = near.unwrap_or_default().chars().take(NEAR_MAX).collect();
    (line, column, near)
}

/// Line and column, both from 1.
fn line_and_column(source: &str, offset: usize) -> (usize, usize) {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.rsplit('\n').next().unwrap_or(before);
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

fn reject<T>(span: Span, why: impl Into<String>) -> Result<T, TemplateError> {
    Err(TemplateError::Refused {
        line: usize::from(span.start_line),
        column: usize::from(span.start_col) + 1,
        why: why.into(),
    })
}

/// Rejects `raw` blocks in the source text: the lexer turns them into text, so the syntax tree does
/// not contain them.
fn reject_raw_blocks(source: &str) -> Result<(), TemplateError> {
    for (offset, _) in source.match_indices("{%") {
        let rest = source[offset + 2..]
            .trim_start_matches(['-', '+'])
            .trim_start();
        let tail = rest.strip_prefix("raw").map(|rest| rest.chars().next());
        if let Some(next) = tail
            && !next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '_')
        {
            let (line, column) = line_and_column(source, offset);
            return Err(TemplateError::Refused {
                line,
                column,
                why: forbidden_block("raw"),
            });
        }
    }
    Ok(())
}

pub(crate) fn forbidden_block(name: &str) -> String {
    format!("`{name}` blocks are not available in body templates; only `for` and `if` are")
}

struct Check<'a> {
    /// The variables that exist. `None` in a template, where loops make further variables and any
    /// other variable is undefined.
    variables: Option<&'a [&'a str]>,
}

impl Check<'_> {
    fn statements(&self, list: &[Stmt<'_>]) -> Result<(), TemplateError> {
        list.iter().try_for_each(|one| self.statement(one))
    }

    fn statement(&self, statement: &Stmt<'_>) -> Result<(), TemplateError> {
        let (span, name) = match statement {
            Stmt::Template(template) => return self.statements(&template.children),
            Stmt::EmitRaw(_) => return Ok(()),
            Stmt::EmitExpr(emit) => return self.expression(&emit.expr),
            Stmt::ForLoop(each) => return self.for_loop(each, each.span()),
            Stmt::IfCond(condition) => {
                self.expression(&condition.expr)?;
                self.statements(&condition.true_body)?;
                return self.statements(&condition.false_body);
            }
            Stmt::WithBlock(block) => (block.span(), "with"),
            Stmt::Set(set) => (set.span(), "set"),
            Stmt::SetBlock(set) => (set.span(), "set"),
            Stmt::AutoEscape(block) => (block.span(), "autoescape"),
            Stmt::FilterBlock(block) => (block.span(), "filter"),
            Stmt::Do(block) => (block.span(), "do"),
            // Another crate may enable further features of minijinja; they stay forbidden here.
            #[allow(unreachable_patterns)]
            _ => return reject(Span::default(), "only `for` and `if` blocks are available"),
        };
        reject(span, forbidden_block(name))
    }

    fn for_loop(&self, each: &ForLoop<'_>, span: Span) -> Result<(), TemplateError> {
        if each.recursive {
            return reject(span, "recursive loops are not available in body templates");
        }
        self.expression(&each.iter)?;
        each.filter_expr
            .as_ref()
            .map_or(Ok(()), |expr| self.expression(expr))?;
        self.statements(&each.body)?;
        self.statements(&each.else_body)
    }

    fn expression(&self, expr: &Expr<'_>) -> Result<(), TemplateError> {
        match expr {
            Expr::Var(var) => match self.variables {
                Some(known) if !known.contains(&var.id) => reject(
                    var.span(),
                    format!(
                        "`{}` does not exist; there are {}",
                        var.id,
                        known.join(", ")
                    ),
                ),
                _ => Ok(()),
            },
            Expr::Const(_) => Ok(()),
            Expr::Slice(slice) => {
                self.expression(&slice.expr)?;
                if slice.step.as_ref().is_some_and(|step| !is_forward(step)) {
                    return reject(
                        slice.span(),
                        "the step of a slice must be a positive number, as in `x[::2]`",
                    );
                }
                [&slice.start, &slice.stop]
                    .into_iter()
                    .flatten()
                    .try_for_each(|expr| self.expression(expr))
            }
            Expr::UnaryOp(unary) => self.expression(&unary.expr),
            Expr::BinOp(binary) => {
                if let Some(operator) = forbidden_operator(&binary.op) {
                    return reject(
                        binary.span(),
                        format!(
                            "the operator `{operator}` is not available; in a body template, write the parts one after the other"
                        ),
                    );
                }
                self.expression(&binary.left)?;
                self.expression(&binary.right)
            }
            Expr::Compare(compare) => {
                self.expression(&compare.expr)?;
                compare
                    .ops
                    .iter()
                    .try_for_each(|op| self.expression(&op.expr))
            }
            Expr::IfExpr(choice) => {
                self.expression(&choice.test_expr)?;
                self.expression(&choice.true_expr)?;
                choice
                    .false_expr
                    .as_ref()
                    .map_or(Ok(()), |expr| self.expression(expr))
            }
            Expr::Filter(filter) => {
                check_known("filter", filter.name, &FILTERS, filter.span())?;
                filter
                    .expr
                    .as_ref()
                    .map_or(Ok(()), |expr| self.expression(expr))?;
                self.arguments(&filter.args, filter.span())
            }
            Expr::Test(test) => {
                check_known("test", test.name, &TESTS, test.span())?;
                self.expression(&test.expr)?;
                self.arguments(&test.args, test.span())
            }
            Expr::GetAttr(get) => self.expression(&get.expr),
            Expr::GetItem(get) => {
                self.expression(&get.expr)?;
                self.expression(&get.subscript_expr)
            }
            Expr::Call(call) => reject(
                call.span(),
                "functions and methods cannot be called; use a template filter such as `x | length`",
            ),
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => check_constant(expr),
        }
    }

    fn arguments(&self, arguments: &[CallArg<'_>], span: Span) -> Result<(), TemplateError> {
        arguments.iter().try_for_each(|argument| match argument {
            CallArg::Pos(expr) => self.expression(expr),
            CallArg::Kwarg(name, _) => reject(
                span,
                format!("argument `{name}` must be positional: write its value without the name"),
            ),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
                reject(span, "`*` and `**` arguments are not available")
            }
        })
    }
}

/// Whether the step of a slice is a positive constant. With a negative step, minijinja 3.0 panics if
/// the sliced value is empty.
fn is_forward(step: &Expr<'_>) -> bool {
    match step {
        Expr::Const(step) => i64::try_from(step.value.clone()).is_ok_and(|step| step > 0),
        _ => false,
    }
}

/// Accepts only constants. If a list could contain variables, nested loops such as
/// `for a in [[x, x]]` and `for b in [[a, a]]` would double a value at each level.
fn check_constant(expr: &Expr<'_>) -> Result<(), TemplateError> {
    match expr {
        Expr::Const(_) => Ok(()),
        Expr::UnaryOp(unary) => check_constant(&unary.expr),
        Expr::List(list) => list.items.iter().try_for_each(check_constant),
        Expr::Tuple(tuple) => tuple.items.iter().try_for_each(check_constant),
        Expr::Map(map) => map
            .keys
            .iter()
            .chain(&map.values)
            .try_for_each(check_constant),
        other => reject(other.span(), "lists and maps may contain constants only"),
    }
}

fn forbidden_operator(operator: &BinOpKind) -> Option<&'static str> {
    match operator {
        BinOpKind::Add => Some("+"),
        BinOpKind::Sub => Some("-"),
        BinOpKind::Mul => Some("*"),
        BinOpKind::Div => Some("/"),
        BinOpKind::FloorDiv => Some("//"),
        BinOpKind::Rem => Some("%"),
        BinOpKind::Pow => Some("**"),
        BinOpKind::Concat => Some("~"),
        BinOpKind::Eq
        | BinOpKind::Ne
        | BinOpKind::Lt
        | BinOpKind::Lte
        | BinOpKind::Gt
        | BinOpKind::Gte
        | BinOpKind::ScAnd
        | BinOpKind::ScOr
        | BinOpKind::In => None,
    }
}

fn check_known(what: &str, name: &str, allowed: &[&str], span: Span) -> Result<(), TemplateError> {
    if allowed.contains(&name) {
        return Ok(());
    }
    reject(
        span,
        format!(
            "{what} `{name}` does not exist; there are {}",
            allowed.join(", ")
        ),
    )
}
