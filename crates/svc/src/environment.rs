//! The process environment. It is read once at the start and then passed to the commands as an
//! argument. There are three exceptions. `svc login` reads `BROWSER` by itself. `svc prove` reads
//! the names of all variables, to hide some of them from the processes that it starts. Other crates
//! read some variables: the HTTP client reads `HTTPS_PROXY`, for example, and the agent `PATH`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use svc_core::TraceContext;

use crate::exit::{Failure, OrFail};

/// Variables and working folder of this process.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    pub working_folder: PathBuf,
}

impl Environment {
    pub fn of_process() -> Result<Self, Failure> {
        let working_folder =
            std::env::current_dir().or_fail("cannot determine the current folder")?;
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect();
        Ok(Self {
            variables,
            working_folder,
        })
    }

    #[cfg(test)]
    pub fn of(folder: &Path, variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).into()))
                .collect(),
            working_folder: folder.to_owned(),
        }
    }

    /// A variable's text; `None` if the variable is not set, is empty or is not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)?
            .to_str()
            .filter(|value| !value.is_empty())
    }

    /// The trace that this process belongs to, from `TRACEPARENT` and `TRACESTATE`.
    pub fn trace(&self) -> Option<TraceContext> {
        TraceContext::parse(self.get("TRACEPARENT")?, self.get("TRACESTATE"))
    }

    fn path(&self, name: &str) -> Option<&Path> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then(|| Path::new(value))
    }

    /// `$XDG_CONFIG_HOME/svc`, or `~/.config/svc`.
    pub fn config_folder(&self) -> Result<PathBuf, Failure> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// `$XDG_DATA_HOME/svc`, or `~/.local/share/svc`.
    pub fn data_folder(&self) -> Result<PathBuf, Failure> {
        self.xdg("XDG_DATA_HOME", ".local/share")
    }

    /// By the XDG rule a relative path in the variable is ignored.
    fn xdg(&self, variable: &str, default: &str) -> Result<PathBuf, Failure> {
        if let Some(folder) = self.path(variable).filter(|folder| folder.is_absolute()) {
            return Ok(folder.join("svc"));
        }
        match self.path("HOME") {
            Some(home) => Ok(home.join(default).join("svc")),
            None => Err(Failure::failed("cannot determine your home folder")
                .why("HOME is not set")
                .hint(format!("set HOME or {variable}"))),
        }
    }

    /// A path as the user wrote it, made absolute.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.working_folder.join(path)
    }
}
