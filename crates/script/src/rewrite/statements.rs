//! Rewrites statements that the engine does not handle as CPython does.

use std::collections::HashSet;

use monty_types::ExcType;
use ruff_python_ast::{
    Alias, Expr, ExprCall, Stmt, StmtImport, StmtImportFrom,
    statement_visitor::{StatementVisitor, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};

use super::{Role, environment, python_text};
use crate::modules::is_built_in;

/// The ranges to replace, and their new text.
pub fn edits(text: &str, role: Role<'_>, body: &[Stmt]) -> Vec<(TextRange, String)> {
    let mut statements = Statements {
        text,
        role,
        edits: Vec::new(),
        globals: Vec::new(),
        modules: HashSet::new(),
    };
    statements.visit_body(body);
    statements.edits
}

struct Statements<'a> {
    text: &'a str,
    role: Role<'a>,
    edits: Vec<(TextRange, String)>,
    /// The names that each enclosing function declares `global`.
    globals: Vec<HashSet<&'a str>>,
    /// Names that imports of libraries bind. Their values may be modules.
    modules: HashSet<&'a str>,
}

impl<'a> StatementVisitor<'a> for Statements<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::FunctionDef(function) => {
                let mut declared = GlobalNames(HashSet::new());
                declared.visit_body(&function.body);
                self.globals.push(declared.0);
                walk_stmt(self, stmt);
                self.globals.pop();
            }
            Stmt::Assign(assign) => self.rewrite_assignment(stmt.range(), &assign.targets),
            Stmt::AugAssign(assign) => {
                self.rewrite_assignment(stmt.range(), std::slice::from_ref(&assign.target));
            }
            Stmt::AnnAssign(assign) if assign.value.is_some() => {
                self.rewrite_assignment(stmt.range(), std::slice::from_ref(&assign.target));
            }
            Stmt::Raise(raise) => {
                if let Some(Expr::Call(call)) = raise.exc.as_deref() {
                    self.rewrite_raise(call);
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

impl<'a> Statements<'a> {
    fn import(&mut self, import: &'a StmtImport) {
        if import.names.iter().all(|alias| is_built_in(&alias.name)) {
            return;
        }
        let calls = import.names.iter().map(|alias| {
            let name = alias.name.as_str();
            let bound = alias
                .asname
                .as_ref()
                .map(ruff_python_ast::Identifier::as_str);
            if is_built_in(name) {
                let suffix = bound.map(|bound| format!(" as {bound}"));
                return format!("import {name}{}", suffix.unwrap_or_default());
            }
            match bound {
                Some(bound) => format!("{bound} = __svc__.get(\"{name}\")"),
                None => match first_part(name) {
                    first if first == name => format!("{name} = __svc__.get(\"{name}\")"),
                    first => format!("__svc__.get(\"{name}\"); {first} = __svc__.get(\"{first}\")"),
                },
            }
        });
        let calls = calls.collect();
        self.modules
            .extend(import.names.iter().map(|alias| match &alias.asname {
                Some(name) => name.as_str(),
                None => first_part(&alias.name),
            }));
        self.replace(import.range, calls);
    }

    fn import_from(&mut self, import: &'a StmtImportFrom) {
        let star = import.names.iter().any(|alias| alias.name.as_str() == "*");
        if import.level > 0 {
            let statement = self.text[import.range].split_whitespace();
            let statement = statement.collect::<Vec<_>>().join(" ");
            let message = format!(
                "relative imports are not supported, name the whole package: `{statement}`"
            );
            let raise = format!("raise ImportError({})", python_text(&message));
            return self.replace(import.range, vec![raise]);
        }
        let Some(module) = &import.module else {
            return;
        };
        let replaced = |alias: &Alias| replaced_member(module, &alias.name);
        if self.role != Role::Own && import.names.iter().any(|alias| replaced(alias).is_some()) {
            let calls = import.names.iter().map(|alias| {
                let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                match replaced(alias) {
                    Some(value) => format!("{bound} = {value}"),
                    None => format!("from {module} import {} as {bound}", alias.name),
                }
            });
            return self.replace(import.range, calls.collect());
        }
        // `refuse` has already rejected scripts with `import *`, and `svc` does not use it itself.
        if is_built_in(module) || star {
            return;
        }
        let bound = |alias: &'a Alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        let calls = import.names.iter().map(|alias| {
            let (bound, name) = (bound(alias), &alias.name);
            format!("{bound} = __svc__.get(\"{module}\", \"{name}\")")
        });
        let calls = calls.collect();
        self.modules.extend(import.names.iter().map(bound));
        self.replace(import.range, calls);
    }

    /// Replaces a range with statements that have the same number of line breaks. The line breaks
    /// are inside the last parentheses.
    fn replace(&mut self, range: TextRange, statements: Vec<String>) {
        let newlines = self.text[range].matches('\n').count();
        let mut line = statements.join("; ");
        if newlines > 0 {
            match line.pop() {
                Some(')') => {
                    line.push_str(&"\n".repeat(newlines));
                    line.push(')');
                }
                // The last statement is a plain import, which has no parentheses.
                last => {
                    line.extend(last);
                    line.push_str("; (");
                    line.push_str(&"\n".repeat(newlines));
                    line.push_str("0)");
                }
            }
        }
        self.edits.push((range, line));
    }

    /// Turns the arguments of an exception into one text, because the engine's exceptions hold only
    /// one text.
    fn rewrite_raise(&mut self, call: &ExprCall) {
        let Expr::Name(name) = &*call.func else {
            return;
        };
        let arguments = &call.arguments;
        if name.id.parse::<ExcType>().is_ok()
            && arguments.keywords.is_empty()
            && !matches!(
                &*arguments.args,
                [] | [Expr::StringLiteral(_) | Expr::FString(_)]
            )
        {
            let inside = arguments.range.add_start(1.into()).sub_end(1.into());
            // If `*values` is empty, the exception has no text.
            let spread = arguments.args.iter().any(Expr::is_starred_expr);
            let open = if spread {
                "*__svc__.exception_texts("
            } else {
                "__svc__.exception_text("
            };
            self.edits
                .push((TextRange::empty(inside.start()), open.to_owned()));
            self.edits
                .push((TextRange::empty(inside.end()), ")".to_owned()));
        }
    }

    /// A library exists as a namespace, which its functions see, and as a module object, which
    /// importers see. Adds code to an assignment to one of them, so that the other changes too.
    fn rewrite_assignment(&mut self, range: TextRange, targets: &'a [Expr]) {
        let mut added = String::new();
        let mut rest: Vec<&Expr> = targets.iter().collect();
        while let Some(target) = rest.pop() {
            match target {
                Expr::Tuple(tuple) => rest.extend(&tuple.elts),
                Expr::List(list) => rest.extend(&list.elts),
                Expr::Name(name) if self.publishes(name.id.as_str()) => {
                    added += &format!("; __svc_self__.{0} = {0}", name.id);
                }
                Expr::Attribute(attribute) => {
                    if let Expr::Name(name) = &*attribute.value
                        && self.modules.contains(name.id.as_str())
                    {
                        added += &format!("; __svc__.store({}, \"{}\")", name.id, attribute.attr);
                    }
                }
                _ => {}
            }
        }
        if !added.is_empty() {
            self.edits.push((TextRange::empty(range.end()), added));
        }
    }

    fn publishes(&self, name: &str) -> bool {
        !matches!(self.role, Role::Main { .. })
            && self
                .globals
                .last()
                .is_some_and(|declared| declared.contains(name))
    }
}

/// Names that one function declares `global`, without those of inner functions.
struct GlobalNames<'a>(HashSet<&'a str>);

impl<'a> StatementVisitor<'a> for GlobalNames<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Global(global) => self.0.extend(global.names.iter().map(|name| name.as_str())),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => walk_stmt(self, stmt),
        }
    }
}

/// The value of a member of a built-in module, if `svc` replaces this member.
fn replaced_member(module: &str, member: &str) -> Option<String> {
    match (module, member) {
        ("os", member) if environment::is_ours(member) => Some(format!("__svc__.{member}()")),
        ("re", "sub" | "subn") => Some(format!("{}re_{member}", super::language::PREFIX)),
        _ => None,
    }
}

fn first_part(module: &str) -> &str {
    module.split_once('.').map_or(module, |(first, _)| first)
}
