//! Replaces `os.environ` and `os.getenv` with the loader's own versions. These keep the changes
//! that a script makes.

use ruff_python_ast::{
    Expr, ExprAttribute, Stmt,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};

/// Whether the loader replaces this member of `os`.
pub fn is_ours(member: &str) -> bool {
    matches!(member, "environ" | "getenv")
}

/// Rewrites `name.environ` and `name.getenv` for every name. The loader checks at run time whether
/// the object is `os`.
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
    /// Turns `os.environ` into `__svc__.environ(os)`. The new code has no quotes, because it may be
    /// inside an f-string.
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
