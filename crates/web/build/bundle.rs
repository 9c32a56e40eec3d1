//! Joins the modules of `web/app` into a few files, so that the first load needs few requests.
//!
//! - The main bundle has the main module and the modules that it imports.
//! - Each module of an `import(…)`, for example a page, has a bundle at its own path.
//! - The shared bundle has the modules that more than one page needs and the main bundle lacks.
//! - A worker runs apart from the page, so its bundle has a copy of each module that it imports.
//!
//! A module becomes a function that is called once, after the modules that it imports (see
//! `module.rs`). This order exists because a cycle of imports is an error.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{Module, member, parse, variable};

/// The contents of each file by its path in a URL. Sorted as texts, because the server looks them
/// up as texts: as paths, `a/b.js` would come before `a.js`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The paths of the bundles that are no page.
#[derive(Clone, Copy)]
pub struct Names {
    pub main: &'static str,
    pub shared: &'static str,
    pub worker: &'static str,
}

pub struct Bundles {
    names: Names,
    modules: BTreeMap<String, Module>,
    /// The modules of `import(…)`.
    entries: BTreeSet<String>,
    /// The bundle of each module, except for the copies in the bundle of the worker.
    homes: BTreeMap<String, String>,
}

impl Bundles {
    /// Reads the modules at `paths` and decides which bundle each of them is in.
    pub fn plan(files: &Files, paths: &[String], names: Names) -> Result<Self, String> {
        let mut modules = BTreeMap::new();
        for path in paths {
            modules.insert(path.clone(), parse(path, &text(files, path)?)?);
        }
        let mut bundles = Self {
            names,
            modules,
            entries: BTreeSet::new(),
            homes: BTreeMap::new(),
        };
        bundles.check_imports()?;
        bundles.find_entries()?;
        bundles.find_homes()?;
        Ok(bundles)
    }

    /// The bundles that the module of an `import(…)` needs besides the main bundle.
    pub fn needed_by(&self, entry: &str) -> Result<Vec<String>, String> {
        let needed = self.order(&[entry])?;
        let homes = needed.iter().map(|path| self.homes[path].as_str());
        let homes: BTreeSet<&str> = homes.chain([entry]).collect();
        let others = homes.into_iter().filter(|home| *home != self.names.main);
        Ok(others.map(str::to_owned).collect())
    }

    /// Replaces the text of a module. The new text must import the same modules.
    pub fn replace(&mut self, path: &str, text: &str) -> Result<(), String> {
        self.modules.insert(path.to_owned(), parse(path, text)?);
        Ok(())
    }

    /// The text of each bundle by its path.
    pub fn write(&self) -> Result<BTreeMap<String, String>, String> {
        let Names {
            main,
            shared,
            worker,
        } = self.names;
        let mut written = BTreeMap::new();
        for bundle in [main, shared] {
            let order = self.order(&self.modules_of(bundle))?;
            let own: Vec<String> = order
                .into_iter()
                .filter(|path| self.homes.get(path).is_some_and(|home| home == bundle))
                .collect();
            let exported: Vec<String> = own.iter().map(|path| variable(path)).collect();
            let text =
                self.join(bundle, &own, None) + &format!("export {{ {} }};\n", exported.join(", "));
            written.insert(bundle.to_owned(), text);
        }
        for entry in &self.entries {
            let order = self.order(&[entry])?;
            let own: Vec<String> = order
                .into_iter()
                .filter(|path| self.homes[path] == *entry)
                .collect();
            written.insert(entry.clone(), self.join(entry, &own, Some(entry)));
        }
        let copies = self.order(&[worker])?;
        let text = copies
            .iter()
            .map(|path| self.function(path))
            .collect::<String>();
        written.insert(worker.to_owned(), root(worker) + &text);
        Ok(written)
    }

    fn modules_of(&self, bundle: &str) -> Vec<&str> {
        let own = self.homes.iter().filter(|(_, home)| *home == bundle);
        own.map(|(path, _)| path.as_str()).collect()
    }

    /// The text of a bundle that has the modules `own`. It exports the names of the module `entry`.
    fn join(&self, bundle: &str, own: &[String], entry: Option<&String>) -> String {
        let imported = own.iter().flat_map(|path| &self.modules[path].imports);
        let mut others: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for path in imported.map(|import| &import.path).chain(entry) {
            let home = self.homes[path].as_str();
            if home != bundle {
                others.entry(home).or_default().insert(variable(path));
            }
        }
        let mut text = root(bundle);
        for (home, names) in others {
            let names: Vec<String> = names.into_iter().collect();
            let address = format!("{}{home}", up(bundle));
            text += &format!("import {{ {} }} from '{address}';\n", names.join(", "));
        }
        text.extend(own.iter().map(|path| self.function(path)));
        if let Some(entry) = entry {
            let names = self.modules[entry].exports.keys().enumerate();
            for (number, name) in names {
                let value = format!("{}.{name}", variable(entry));
                text += &format!(
                    "const $export{number} = {value};\nexport {{ $export{number} as {name} }};\n"
                );
            }
        }
        text
    }

    /// The code that runs a module and assigns its exports to a constant. The first line of this
    /// code names the module, and the second line is line 1 of the module.
    fn function(&self, path: &str) -> String {
        let module = &self.modules[path];
        let begin = if module.awaits {
            "await (async () => {"
        } else {
            "(() => {"
        };
        let exports = module
            .exports
            .iter()
            .map(|(name, value)| member(name, value));
        let exports: Vec<String> = exports.collect();
        format!(
            "const {} = {begin} // {path}\n{}\n;return {{ {} }};\n}})();\n",
            variable(path),
            module.body.trim_end(),
            exports.join(", ")
        )
    }

    fn check_imports(&self) -> Result<(), String> {
        let mut variables = BTreeMap::new();
        for (path, module) in &self.modules {
            if let Some(other) = variables.insert(variable(path), path) {
                return Err(format!(
                    "web/app/{path} and web/app/{other} need different names"
                ));
            }
            for import in &module.imports {
                let known = self.modules.get(&import.path);
                if !known.is_some_and(|known| known.exports.contains_key(&import.name)) {
                    return Err(format!(
                        "web/app/{path}:{}: web/app/{} has no export `{}`",
                        import.line, import.path, import.name
                    ));
                }
            }
        }
        Ok(())
    }

    fn find_entries(&mut self) -> Result<(), String> {
        for (path, module) in &self.modules {
            for pattern in &module.loads {
                let matches = |known: &&String| match pattern.split_once('*') {
                    None => *known == pattern,
                    Some((before, after)) => known
                        .strip_prefix(before)
                        .and_then(|rest| rest.strip_suffix(after))
                        .is_some_and(|name| !name.contains('/')),
                };
                let found: Vec<String> = self.modules.keys().filter(matches).cloned().collect();
                if found.is_empty() {
                    return Err(format!("web/app/{path}: no file matches web/app/{pattern}"));
                }
                self.entries.extend(found);
            }
        }
        Ok(())
    }

    fn find_homes(&mut self) -> Result<(), String> {
        let Names {
            main,
            shared,
            worker,
        } = self.names;
        for path in self.order(&[main])? {
            self.homes.insert(path, main.to_owned());
        }
        for entry in &self.entries {
            for path in self.order(&[entry])? {
                let home = self.homes.entry(path).or_insert_with(|| entry.clone());
                if home != main && home != entry {
                    *home = shared.to_owned();
                }
            }
        }
        let copies = self.order(&[worker])?;
        let is_lost = |path: &&String| !self.homes.contains_key(*path) && !copies.contains(*path);
        match self.modules.keys().find(is_lost) {
            Some(path) => Err(format!("web/app/{path}: no module imports this file")),
            None => Ok(()),
        }
    }

    /// The modules at `paths` and all modules that they import, each after its imports.
    fn order(&self, paths: &[&str]) -> Result<Vec<String>, String> {
        let mut order = Vec::new();
        for path in paths {
            self.visit(path, &mut Vec::new(), &mut order)?;
        }
        Ok(order)
    }

    fn visit(
        &self,
        path: &str,
        open: &mut Vec<String>,
        order: &mut Vec<String>,
    ) -> Result<(), String> {
        if order.iter().any(|done| done == path) {
            return Ok(());
        }
        if let Some(start) = open.iter().position(|one| one == path) {
            let cycle = open[start..].join(" -> ");
            return Err(format!(
                "web/app: these modules import each other: {cycle} -> {path}"
            ));
        }
        open.push(path.to_owned());
        let module = self
            .modules
            .get(path)
            .ok_or_else(|| format!("web/app has no file {path}"))?;
        for import in &module.imports {
            self.visit(&import.path, open, order)?;
        }
        open.pop();
        order.push(path.to_owned());
        Ok(())
    }
}

/// The line that defines the address of the root of all files.
fn root(bundle: &str) -> String {
    format!(
        "const $root = new URL('{}', import.meta.url).href;\n",
        up(bundle)
    )
}

/// The relative path from a bundle to the root of all files.
fn up(bundle: &str) -> String {
    "../".repeat(bundle.matches('/').count())
}

pub fn text(files: &Files, path: &str) -> Result<String, String> {
    let bytes = files
        .get(path)
        .ok_or_else(|| format!("web/app has no file {path}"))?;
    String::from_utf8(bytes.clone()).map_err(|_| format!("web/app/{path} is not UTF-8"))
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
