//! Finds dicts whose constant keys are equal but of different types, such as `1` and `True`.
//!
//! In Python the first of equal keys stays; the engine keeps the newest. The value is the same, but
//! the key, and the JSON of the dict, are not. So such a dict is refused.

use std::collections::HashMap;

use ruff_python_ast::{
    DictItem, Expr, Number, Operator, Stmt, UnaryOp,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::refuse::Refusal;

/// A constant key: its text, its type, and a form in which equal keys are equal.
struct Key {
    text: String,
    kind: String,
    form: String,
}

/// The keys of one dict by their form: their text and type.
type Keys = HashMap<String, (String, String)>;

/// The first dict in the text that has such keys.
pub fn find<'a>(text: &'a str, body: &'a [Stmt]) -> Option<Refusal> {
    let mut finder = Finder {
        text,
        names: vec![HashMap::new()],
        refused: None,
    };
    finder.visit_body(body);
    finder.refused
}

struct Finder<'a> {
    text: &'a str,
    /// The keys of the dicts that variables hold, for each function around the position.
    names: Vec<HashMap<&'a str, Keys>>,
    refused: Option<Refusal>,
}

impl<'a> Finder<'a> {
    fn add(&mut self, keys: &mut Keys, key: &Expr) {
        let Some(Key { text, kind, form }) = constant(self.text, key) else {
            return;
        };
        match keys.get(&form) {
            Some((first, known)) if *known != kind => self.refuse(first, &text, key.start()),
            Some(_) => {}
            None => drop(keys.insert(form, (text, kind))),
        }
    }

    fn refuse(&mut self, first: &str, second: &str, at: TextSize) {
        self.refused.get_or_insert_with(|| Refusal {
            at,
            what: format!(
                "a dict with the keys `{first}` and `{second}`, which are equal in Python"
            ),
            instead: "use keys of one type, such as `str(key)`",
        });
    }

    /// Adds the keys of an expression that makes a dict.
    fn add_all(&mut self, keys: &mut Keys, made: &'a Expr) {
        match made {
            Expr::Dict(dict) => {
                for DictItem { key, value } in &dict.items {
                    match key {
                        Some(key) => self.add(keys, key),
                        None => self.add_all(keys, value),
                    }
                }
            }
            Expr::BinOp(both) if both.op == Operator::BitOr => {
                self.add_all(keys, &both.left);
                self.add_all(keys, &both.right);
            }
            Expr::Name(name) => {
                let known = self
                    .names
                    .last()
                    .and_then(|names| names.get(name.id.as_str()));
                for (form, (text, kind)) in known.into_iter().flatten() {
                    let entry = (text.clone(), kind.clone());
                    keys.entry(form.clone()).or_insert(entry);
                }
            }
            _ => {}
        }
    }

    /// Adds keys to those that a variable of this function holds.
    fn extend(&mut self, name: &'a str, add: impl FnOnce(&mut Self, &mut Keys)) {
        let names = self.names.last_mut().expect("the module");
        let mut keys = names.remove(name).unwrap_or_default();
        add(self, &mut keys);
        self.names
            .last_mut()
            .expect("the module")
            .insert(name, keys);
    }

    fn store(&mut self, target: &'a Expr) {
        if let Expr::Subscript(item) = target
            && let Expr::Name(name) = &*item.value
        {
            self.extend(name.id.as_str(), |this, keys| this.add(keys, &item.slice));
        }
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.store(target);
                    if let Expr::Name(name) = target {
                        let mut keys = Keys::new();
                        self.add_all(&mut keys, &assign.value);
                        self.names
                            .last_mut()
                            .expect("the module")
                            .insert(name.id.as_str(), keys);
                    }
                }
            }
            Stmt::AugAssign(assign) => {
                self.store(&assign.target);
                if let Expr::Name(name) = &*assign.target
                    && assign.op == Operator::BitOr
                {
                    let value = &*assign.value;
                    self.extend(name.id.as_str(), |this, keys| this.add_all(keys, value));
                }
            }
            Stmt::FunctionDef(_) => {
                self.names.push(HashMap::new());
                walk_stmt(self, stmt);
                self.names.pop();
                return;
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Dict(_) | Expr::BinOp(_) => self.add_all(&mut Keys::new(), expr),
            // `d.update({…})`
            Expr::Call(call) => {
                if let Expr::Attribute(method) = &*call.func
                    && let Expr::Name(name) = &*method.value
                    && method.attr.as_str() == "update"
                    && let [value] = &*call.arguments.args
                {
                    self.extend(name.id.as_str(), |this, keys| this.add_all(keys, value));
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// A constant number, boolean, or tuple with such members.
fn constant(text: &str, key: &Expr) -> Option<Key> {
    let (kind, form) = match key {
        Expr::BooleanLiteral(value) => ("bool".to_owned(), u8::from(value.value).to_string()),
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(int) => ("int".to_owned(), int.to_string()),
            Number::Float(float) => ("float".to_owned(), whole(*float)),
            Number::Complex { .. } => return None,
        },
        Expr::UnaryOp(minus) if minus.op == UnaryOp::USub => {
            let Key { kind, form, .. } = constant(text, &minus.operand)?;
            match form.as_str() {
                "0" => (kind, form),
                _ => (kind, format!("-{form}")),
            }
        }
        Expr::Tuple(tuple) => {
            let members = tuple.elts.iter().map(|member| constant(text, member));
            let members: Vec<_> = members.collect::<Option<_>>()?;
            let join = |part: fn(&Key) -> &str| {
                let parts: Vec<_> = members.iter().map(part).collect();
                format!("({})", parts.join(","))
            };
            (join(|key| key.kind.as_str()), join(|key| key.form.as_str()))
        }
        Expr::StringLiteral(_) | Expr::NoneLiteral(_) => {
            ("other".to_owned(), format!("'{}", &text[key.range()]))
        }
        _ => return None,
    };
    Some(Key {
        text: text[key.range()].to_owned(),
        kind,
        form,
    })
}

/// A float as the text of the equal int, if there is one.
fn whole(float: f64) -> String {
    match float.fract() == 0.0 {
        true => format!("{:.0}", float.abs()),
        false => format!("{float:?}"),
    }
}
