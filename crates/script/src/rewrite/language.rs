//! Puts functions of `python/language.py` in place of parts of Python that the engine lacks or does
//! differently: `round`, `callable`, `"…".translate(…)`, `re.sub` with a function, `del d[k]`, …
//!
//! The inserted code has no quotes, because it may be inside an f-string. It has line breaks only
//! in place of line breaks of the text.

use std::collections::HashSet;

use ruff_python_ast::{
    Arguments, Expr, ExprAttribute, ExprCall, InterpolatedStringElement, Stmt, StmtDelete,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    names::{BUILT_IN, FUNCTIONS, LAZY, METHODS, PASSED, READERS, TYPES, has},
    refuse::{Refusal, is_object},
    scopes::Scopes,
};

/// The rewritten code calls a function of `python/language.py` by this text and the function's
/// name. The evaluator loads these functions only if the code contains this text.
pub const PREFIX: &str = "__svc__.python.";

/// The changes to make to the text.
pub struct Edits {
    /// Closing parts of replaced expressions. They come before all other edits at the same
    /// position.
    pub closing: Vec<(TextRange, String)>,
    /// All other edits. They come after the edits of the module `statements` at the same position.
    pub others: Vec<(TextRange, String)>,
}

pub fn edits(text: &str, body: &[Stmt]) -> Result<Edits, Refusal> {
    let mut language = Language {
        text,
        edits: Edits {
            closing: Vec::new(),
            others: Vec::new(),
        },
        scopes: Scopes::of_module(body),
        read_at_once: HashSet::new(),
        shown: false,
        refused: None,
    };
    language.visit_body(body);
    match language.refused {
        Some(refusal) => Err(refusal),
        None => Ok(language.edits),
    }
}

/// Whether every target is an item, or a slice without a step.
pub fn can_delete(targets: &[Expr]) -> bool {
    targets.iter().all(|target| {
        let Expr::Subscript(target) = target else {
            return false;
        };
        !matches!(&*target.slice, Expr::Slice(slice) if slice.step.is_some())
    })
}

struct Language<'a> {
    text: &'a str,
    edits: Edits,
    scopes: Scopes<'a>,
    /// Expressions that the code around them only iterates over, such as the iterable of a `for`
    /// loop. A list works there as well as an iterator.
    read_at_once: HashSet<TextRange>,
    /// Whether the position is inside `{…=}` of an f-string, which shows its own text.
    shown: bool,
    refused: Option<Refusal>,
}

impl<'a> Visitor<'a> for Language<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                for parameter in function.parameters.iter() {
                    parameter
                        .default()
                        .into_iter()
                        .for_each(|value| self.visit_expr(value));
                }
                let parameters = Some(&*function.parameters);
                self.scopes.enter_function(parameters, &function.body);
                self.visit_body(&function.body);
                self.scopes.leave();
            }
            Stmt::ClassDef(class) => {
                if let Some(bases) = class.arguments.as_deref()
                    && is_object(class)
                {
                    let lines = self.text[bases.range()].matches('\n').count();
                    let new = format!("({})", "\n".repeat(lines));
                    self.replace(bases.range(), &new);
                    for decorator in &class.decorator_list {
                        self.visit_decorator(decorator);
                    }
                    return self.visit_body(&class.body);
                }
                visitor::walk_stmt(self, stmt);
            }
            Stmt::For(loop_) => {
                self.read_at_once.insert(loop_.iter.range());
                visitor::walk_stmt(self, stmt);
            }
            Stmt::Delete(delete) if can_delete(&delete.targets) => self.delete(delete),
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    /// The engine does not evaluate annotations.
    fn visit_annotation(&mut self, _annotation: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        let range = expr.range();
        match expr {
            Expr::Name(name) if self.is_misread_target(name.id.as_str()) => {
                self.replace(range, &format!("__svc_{}", name.id));
            }
            Expr::Name(name) if name.ctx.is_load() => {
                let name = name.id.as_str();
                if has(FUNCTIONS, name) && !self.scopes.bind(name) {
                    self.replace(range, &format!("{PREFIX}{name}"));
                }
            }
            Expr::Attribute(attribute) if self.method_of_type(attribute) => {}
            Expr::Call(call) => self.call(call),
            Expr::Starred(starred) => {
                self.read_at_once.insert(starred.value.range());
                visitor::walk_expr(self, expr);
            }
            Expr::Lambda(lambda) => {
                self.scopes
                    .enter_function(lambda.parameters.as_deref(), &[]);
                visitor::walk_expr(self, expr);
                self.scopes.leave();
            }
            Expr::Generator(generator) => {
                let lazy = !self.read_at_once.contains(&range);
                let targets = generator.generators.iter().map(|part| &part.target);
                self.scopes.enter_targets(targets);
                self.wrap(range, lazy, expr);
                self.scopes.leave();
            }
            Expr::ListComp(comprehension) => {
                self.comprehension(&comprehension.generators, expr);
            }
            Expr::SetComp(comprehension) => self.comprehension(&comprehension.generators, expr),
            Expr::DictComp(comprehension) => self.comprehension(&comprehension.generators, expr),
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a ruff_python_ast::Comprehension) {
        self.read_at_once.insert(comprehension.iter.range());
        visitor::walk_comprehension(self, comprehension);
    }

    fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
        let before = self.shown;
        if let InterpolatedStringElement::Interpolation(inside) = element {
            self.shown |= inside.debug_text.is_some();
        }
        visitor::walk_interpolated_string_element(self, element);
        self.shown = before;
    }
}

impl<'a> Language<'a> {
    fn replace(&mut self, range: TextRange, new: &str) {
        self.check_shown(range.start());
        self.edits.others.push((range, new.to_owned()));
    }

    fn close(&mut self, at: TextSize, new: &str) {
        let range = TextRange::empty(at);
        self.edits.closing.push((range, new.to_owned()));
    }

    fn check_shown(&mut self, at: TextSize) {
        if self.shown && self.refused.is_none() {
            self.refused = Some(Refusal {
                at,
                what: "this inside `{…=}` of an f-string".to_owned(),
                instead: "write the text and the value: `f\"x={x}\"`",
            });
        }
    }

    /// Whether the engine mistakes this target of a comprehension for a built-in function of the
    /// same name, as in `[id for id in ids]`. Such targets get another name.
    fn is_misread_target(&self, name: &str) -> bool {
        has(BUILT_IN, name) && self.scopes.is_target(name)
    }

    fn insert(&mut self, at: TextSize, new: &str) {
        self.replace(TextRange::empty(at), new);
    }

    fn comprehension(&mut self, generators: &'a [ruff_python_ast::Comprehension], expr: &'a Expr) {
        let targets = generators.iter().map(|part| &part.target);
        self.scopes.enter_targets(targets);
        visitor::walk_expr(self, expr);
        self.scopes.leave();
    }

    /// If `lazy` is set, makes an iterator of an expression that is a list in the engine.
    fn wrap(&mut self, range: TextRange, lazy: bool, expr: &'a Expr) {
        if lazy {
            self.insert(range.start(), "__svc__.iter(");
        }
        visitor::walk_expr(self, expr);
        if lazy {
            self.close(range.end(), ")");
        }
    }

    /// The name of the called function, if the script does not define this name itself.
    fn built_in(&self, call: &'a ExprCall) -> Option<&'a str> {
        match &*call.func {
            Expr::Name(name) if !self.scopes.bind(name.id.as_str()) => Some(name.id.as_str()),
            _ => None,
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        let function = self.built_in(call);
        let arguments = &call.arguments;
        let joins =
            matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "join");
        if joins || function.is_some_and(|name| has(READERS, name)) {
            let read = arguments.args.iter().map(Ranged::range);
            self.read_at_once.extend(read);
        }
        self.passed_methods(call, function);
        match function {
            Some("bytes") if arguments.args.len() == 1 && arguments.keywords.is_empty() => {
                self.replace(call.func.range(), &format!("{PREFIX}bytes_of"));
                return self.visit_arguments(arguments);
            }
            Some("print") if prints_to_object(arguments) => {
                self.replace(call.func.range(), &format!("{PREFIX}print"));
                return self.visit_arguments(arguments);
            }
            Some(name) if has(LAZY, name) && !self.read_at_once.contains(&call.range()) => {
                self.insert(call.start(), "__svc__.iter(");
                visitor::walk_arguments(self, arguments);
                return self.close(call.end(), ")");
            }
            _ => {}
        }
        if let Expr::Attribute(method) = &*call.func
            && self.is_replaced(method, arguments)
        {
            return self.method(method, call);
        }
        self.visit_expr(&call.func);
        self.visit_arguments(arguments);
    }

    /// Turns `value.method(…)` into `__svc__.python.method(value, …)`.
    fn method(&mut self, method: &'a ExprAttribute, call: &'a ExprCall) {
        let after_value = TextRange::new(method.value.end(), method.attr.start());
        let dot = self.text[after_value].rfind('.').unwrap_or_default();
        let dot = after_value.start() + TextSize::try_from(dot).unwrap_or_default();
        let open = TextRange::new(dot, call.arguments.start() + TextSize::new(1));
        let lines = "\n".repeat(self.text[open].matches('\n').count());
        self.insert(call.start(), &format!("{PREFIX}{}(", method.attr));
        self.visit_expr(&method.value);
        self.replace(open, &format!(", {lines}"));
        self.visit_arguments(&call.arguments);
    }

    /// Whether a function of `python/language.py` replaces this method.
    fn is_replaced(&self, method: &ExprAttribute, arguments: &Arguments) -> bool {
        let name = method.attr.as_str();
        if matches!(&*arguments.args, [Expr::Generator(only)] if !only.parenthesized) {
            return false;
        }
        match name {
            // If the argument `repl` is a text, the engine's own `sub` works.
            "sub" => {
                let module = matches!(&*method.value, Expr::Name(name) if name.id == "re");
                let replacement = match &*arguments.args {
                    [_, replacement, ..] if module => Some(replacement),
                    [replacement, _] => Some(replacement),
                    _ => None,
                };
                !replacement.is_some_and(is_text)
            }
            "write" => is_stream(&method.value),
            _ => has(METHODS, name),
        }
    }

    /// Turns `str.lower` into a function. Returns whether it did.
    fn method_of_type(&mut self, attribute: &'a ExprAttribute) -> bool {
        let (Expr::Name(owner), method) = (&*attribute.value, attribute.attr.as_str()) else {
            return false;
        };
        let owner = owner.id.as_str();
        if !has(TYPES, owner) || self.scopes.bind(owner) {
            return false;
        }
        let new = match (owner, method) {
            ("str", "maketrans") | ("int", "from_bytes") => format!("{PREFIX}{method}"),
            _ if has(METHODS, method) => format!("{PREFIX}{method}"),
            _ if has(PASSED, method) => format!(
                "(lambda __svc_value, *__svc_args, **__svc_named: \
                 __svc_value.{method}(*__svc_args, **__svc_named))"
            ),
            _ => return false,
        };
        self.replace(attribute.range, &new);
        true
    }

    /// Turns `key=counts.get` and `map(counts.get, …)` into functions: the engine cannot hold a
    /// method of a built-in value.
    fn passed_methods(&mut self, call: &'a ExprCall, function: Option<&str>) {
        let arguments = &call.arguments;
        let sorts = match &*call.func {
            Expr::Attribute(method) => matches!(method.attr.as_str(), "sort" | "groupby"),
            _ => matches!(function, Some("sorted" | "min" | "max")),
        };
        let keys = arguments.keywords.iter().filter(|keyword| {
            sorts
                && keyword
                    .arg
                    .as_ref()
                    .is_some_and(|name| name.as_str() == "key")
        });
        let first = arguments
            .args
            .first()
            .filter(|_| matches!(function, Some("map" | "filter")));
        for passed in keys.map(|keyword| &keyword.value).chain(first) {
            if let Expr::Attribute(method) = passed
                && has(PASSED, method.attr.as_str())
                && is_path(&method.value)
                && !matches!(&*method.value, Expr::Name(name) if has(TYPES, name.id.as_str()))
            {
                self.insert(passed.start(), "(lambda *__svc_args, **__svc_named: ");
                self.close(passed.end(), "(*__svc_args, **__svc_named))");
            }
        }
    }

    /// Turns `del d[k]` into `__svc__.python.delete(d, k)`, and `del a[1:2]` into `a[1:2] = []`.
    fn delete(&mut self, delete: &'a StmtDelete) {
        let mut before = delete.start();
        for target in &delete.targets {
            let Expr::Subscript(item) = target else {
                continue;
            };
            let separator = if before == delete.start() { "" } else { "; " };
            let gap = TextRange::new(before, target.start());
            before = target.end();
            if item.slice.is_slice_expr() {
                self.replace(gap, separator);
                self.visit_expr(&item.value);
                self.visit_expr(&item.slice);
                self.close(target.end(), " = []");
                continue;
            }
            let open = TextRange::new(item.value.end(), item.slice.start());
            let close = TextRange::new(item.slice.end(), target.end());
            self.replace(gap, &format!("{separator}{PREFIX}delete("));
            self.visit_expr(&item.value);
            self.replace(open, &self.text[open].replacen('[', ",", 1));
            self.visit_expr(&item.slice);
            self.replace(close, &replace_last(&self.text[close], ']', ")"));
        }
    }
}

fn replace_last(text: &str, old: char, new: &str) -> String {
    match text.rfind(old) {
        Some(at) => format!("{}{new}{}", &text[..at], &text[at + old.len_utf8()..]),
        None => text.to_owned(),
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_)
    )
}

/// Whether this looks like `sys.stdout` or `sys.stderr`: a name or an attribute `stdout` or
/// `stderr`.
fn is_stream(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    matches!(name, "stdout" | "stderr")
}

/// Whether these are the arguments of `print(…, file=…)` or `print(…, **named)`, and the file is
/// not a standard stream.
fn prints_to_object(arguments: &Arguments) -> bool {
    arguments.keywords.iter().any(|keyword| {
        let name = keyword
            .arg
            .as_ref()
            .map(ruff_python_ast::Identifier::as_str);
        name.is_none_or(|name| name == "file") && !is_stream(&keyword.value)
    })
}

/// Whether this is `a` or `a.b.c`.
fn is_path(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Attribute(attribute) => is_path(&attribute.value),
        _ => false,
    }
}
