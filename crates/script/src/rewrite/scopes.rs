//! The names that a script binds. Such a name hides the built-in function of the same name.

use std::collections::HashSet;

use ruff_python_ast::{
    ExceptHandler, Expr, Parameters, Pattern, Stmt,
    visitor::{self, Visitor},
};

/// The scopes around a position of the text, outermost first.
pub struct Scopes<'a>(Vec<Scope<'a>>);

struct Scope<'a> {
    names: HashSet<&'a str>,
    comprehension: bool,
}

impl<'a> Scopes<'a> {
    pub fn of_module(body: &'a [Stmt]) -> Self {
        let mut names = Names(HashSet::new());
        names.visit_body(body);
        let mut scopes = Self(Vec::new());
        scopes.enter(names, false);
        scopes
    }

    fn enter(&mut self, names: Names<'a>, comprehension: bool) {
        self.0.push(Scope {
            names: names.0,
            comprehension,
        });
    }

    pub fn enter_function(&mut self, parameters: Option<&'a Parameters>, body: &'a [Stmt]) {
        let mut names = Names(HashSet::new());
        names.visit_body(body);
        let parameters = parameters.into_iter().flat_map(Parameters::iter);
        names
            .0
            .extend(parameters.map(|parameter| parameter.name().as_str()));
        self.enter(names, false);
    }

    /// The scope of a comprehension's targets.
    pub fn enter_targets(&mut self, targets: impl Iterator<Item = &'a Expr>) {
        let mut names = Names(HashSet::new());
        targets.for_each(|target| names.visit_expr(target));
        self.enter(names, true);
    }

    pub fn leave(&mut self) {
        self.0.pop();
    }

    pub fn bind(&self, name: &str) -> bool {
        self.0.iter().any(|scope| scope.names.contains(name))
    }

    /// Whether the name is a target of a comprehension around this position.
    pub fn is_target(&self, name: &str) -> bool {
        let mut binding = self.0.iter().rev();
        binding
            .find(|scope| scope.names.contains(name))
            .is_some_and(|scope| scope.comprehension)
    }
}

/// The names bound in one scope, without those bound inside functions, classes, lambdas and
/// comprehensions in it.
struct Names<'a>(HashSet<&'a str>);

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.0.insert(function.name.as_str());
            }
            Stmt::ClassDef(class) => {
                self.0.insert(class.name.as_str());
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if !name.ctx.is_load() => {
                self.0.insert(name.id.as_str());
            }
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => {}
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_alias(&mut self, alias: &'a ruff_python_ast::Alias) {
        self.0
            .insert(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(except) = handler;
        self.0.extend(except.name.iter().map(|name| name.as_str()));
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(pattern) => pattern.name.as_ref(),
            Pattern::MatchStar(pattern) => pattern.name.as_ref(),
            Pattern::MatchMapping(pattern) => pattern.rest.as_ref(),
            _ => None,
        };
        self.0.extend(name.map(|name| name.as_str()));
        visitor::walk_pattern(self, pattern);
    }
}
