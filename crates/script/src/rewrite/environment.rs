//! `os.environ` and `os.getenv`, which become the loader's: what a script sets is to last.

use ruff_python_ast::{
    Expr, ExprAttribute, Stmt,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};

/// Whether this member of `os` is the loader's.
pub fn is_ours(member: &str) -> bool {
    matches!(member, "environ" | "getenv")
}

/// Adds what `anything.environ` becomes: only when it runs is it known whether that is `os`.
pub fn edit(text: &str, body: &[Stmt], edits: &mut Vec<(TextRange, String)>) {
    if text.contains(".environ") || text.contains(".getenv") {
        Environment { text, edits }.visit_body(body);
    }
}

struct Environment<'a> {
    text: &'a str,
    edits: &'a mut Vec<(TextRange, String)>,
}

impl<'a> Visitor<'a> for Environment<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr {
            self.attribute(attribute);
        }
        walk_expr(self, expr);
    }
}

impl Environment<'_> {
    /// `os.environ` is then `__svc__.environ(os)`; without quotes, as it may stand in an f-string.
    fn attribute(&mut self, attribute: &ExprAttribute) {
        let member = attribute.attr.as_str();
        let Expr::Name(name) = &*attribute.value else {
            return;
        };
        let after = TextRange::new(name.end(), attribute.end());
        let plain = self.text[after].strip_prefix('.') == Some(member);
        if !is_ours(member) || !attribute.ctx.is_load() || !plain {
            return;
        }
        let before = TextRange::empty(attribute.start());
        self.edits.push((before, format!("__svc__.{member}(")));
        self.edits.push((after, ")".to_owned()));
    }
}
