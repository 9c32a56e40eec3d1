//! Finds code that the engine does not support, or would run differently without an error.

use ruff_python_ast::{
    Expr, Stmt, StmtClassDef, StmtFunctionDef,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::names::{FIXED_ATTRIBUTES, SPECIAL_METHODS, has};

/// Code that is refused: what it is, and what to write instead.
pub struct Refusal {
    pub at: TextSize,
    pub what: String,
    pub instead: &'static str,
}

/// The first refusal in the text.
pub fn find(body: &[Stmt]) -> Option<Refusal> {
    let mut unsupported = Unsupported(None);
    unsupported.visit_body(body);
    unsupported.0
}

struct Unsupported(Option<Refusal>);

impl Unsupported {
    fn refuse(&mut self, at: TextSize, what: impl Into<String>, instead: &'static str) {
        if self.0.as_ref().is_none_or(|first| at < first.at) {
            let what = what.into();
            self.0 = Some(Refusal { at, what, instead });
        }
    }

    fn class(&mut self, class: &StmtClassDef) {
        let bases = class.arguments.as_deref();
        if let Some(bases) = bases
            && !is_object(class)
            && !(bases.args.is_empty() && bases.keywords.is_empty())
        {
            let base = bases.args.first().and_then(last_name).unwrap_or_default();
            self.refuse(
                class.start(),
                "class inheritance and metaclasses",
                instead_of_base(base),
            );
        }
        for stmt in &class.body {
            if let Stmt::FunctionDef(method) = stmt {
                self.method(method);
            }
        }
    }

    fn method(&mut self, method: &StmtFunctionDef) {
        if let Some(decorator) = method.decorator_list.first() {
            let instead = match last_name(&decorator.expression) {
                Some("property" | "cached_property" | "setter") => {
                    "write a method and call it: `shape.area()`"
                }
                Some("staticmethod" | "classmethod") => "write a function outside the class",
                _ => "write what the decorator does into the method itself",
            };
            self.refuse(
                decorator.start(),
                "method decorators (classmethod/staticmethod/property)",
                instead,
            );
        }
        let name = method.name.as_str();
        let special = name
            .strip_prefix("__")
            .and_then(|name| name.strip_suffix("__"));
        if special.is_some_and(|special| !has(SPECIAL_METHODS, special)) {
            let instead = match name {
                "__len__" | "__bool__" => "write a method and call it: `if not basket.is_empty():`",
                "__lt__" | "__le__" | "__gt__" | "__ge__" => {
                    "sort with a key: `sorted(items, key=lambda item: item.price)`"
                }
                "__ne__" => "write `__eq__`: `!=` is its opposite",
                "__format__" => "write `__str__`",
                _ => "write a method with a plain name and call it",
            };
            self.refuse(
                method.start(),
                format!("the special method `{name}`"),
                instead,
            );
        }
    }

    fn assignment(&mut self, targets: &[Expr]) {
        for target in targets {
            if let Expr::Attribute(attribute) = target
                && has(FIXED_ATTRIBUTES, attribute.attr.as_str())
            {
                let what = format!("assigning to `{}`", attribute.attr);
                self.refuse(target.start(), what, "use an attribute with another name");
            }
        }
    }
}

impl<'a> Visitor<'a> for Unsupported {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Assign(assign) => self.assignment(&assign.targets),
            Stmt::Delete(delete) if !super::language::can_delete(&delete.targets) => {
                self.refuse(
                    stmt.start(),
                    "the 'del' statement for names and attributes",
                    "assign `None`; items of a list or dict can be deleted",
                );
            }
            Stmt::ImportFrom(import)
                if import.names.iter().any(|alias| alias.name.as_str() == "*") =>
            {
                self.refuse(
                    stmt.start(),
                    "wildcard imports (`from … import *`)",
                    "name what you import",
                );
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Yield(_) | Expr::YieldFrom(_) = expr {
            self.refuse(
                expr.start(),
                "generators (`yield`)",
                "collect the values in a list and return it",
            );
        }
        walk_expr(self, expr);
    }
}

/// Whether the class is written `class Name(object)`.
pub fn is_object(class: &StmtClassDef) -> bool {
    class.arguments.as_deref().is_some_and(|bases| {
        bases.keywords.is_empty()
            && matches!(&*bases.args, [Expr::Name(base)] if base.id.as_str() == "object")
    })
}

fn instead_of_base(base: &str) -> &'static str {
    match base {
        "Enum" | "IntEnum" | "StrEnum" | "Flag" => {
            "write `Colour = Enum(\"Colour\", {\"RED\": 1})`, or a class without a base"
        }
        "NamedTuple" => "use `collections.namedtuple` or `@dataclass`",
        "ABC" | "Protocol" | "Generic" | "TypedDict" => "leave the base class out",
        _ if base.ends_with("Exception") || base.ends_with("Error") => {
            "raise a built-in exception, such as `ValueError(\"…\")`"
        }
        _ => "keep an object of the other class in an attribute",
    }
}

/// `b` of `b`, `a.b`, `a.b(…)` and `a.b[…]`.
fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        Expr::Call(call) => last_name(&call.func),
        Expr::Subscript(subscript) => last_name(&subscript.value),
        _ => None,
    }
}
