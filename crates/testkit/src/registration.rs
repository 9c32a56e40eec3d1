//! Builders for registration files.

use std::{fmt, path::Path};

use serde_json::Value;

use crate::program::fixture_method_server;

/// A registration whose method server is the fixture.
pub fn fixture() -> RegistrationToml {
    RegistrationToml::of(&fixture_method_server(), &[])
}

/// One method. It is private unless a builder function changes that.
pub fn method(name: &str, local_name: &str) -> MethodToml {
    MethodToml {
        lines: vec![
            ("name", quoted(name)),
            ("local_name", quoted(local_name)),
            ("description", quoted(&format!("Does {local_name}"))),
        ],
    }
}

#[derive(Clone)]
pub struct RegistrationToml {
    server: Vec<(&'static str, String)>,
    methods: Vec<MethodToml>,
}

#[derive(Clone)]
pub struct MethodToml {
    lines: Vec<(&'static str, String)>,
}

impl RegistrationToml {
    pub fn of(command: &Path, args: &[&str]) -> Self {
        let server = vec![
            ("command", quoted(&command.to_string_lossy())),
            ("args", list(args)),
        ];
        Self {
            server,
            methods: Vec::new(),
        }
    }

    /// A method server that is a shell script.
    pub fn shell(script: &str) -> Self {
        Self::of(Path::new("sh"), &["-c", script])
    }

    pub fn timeout(mut self, seconds: u32) -> Self {
        self.server.push(("timeout", seconds.to_string()));
        self
    }

    pub fn serial(mut self) -> Self {
        self.server.push(("mode", quoted("serial")));
        self
    }

    pub fn max_in_flight(mut self, calls: u32) -> Self {
        self.server.push(("max_in_flight", calls.to_string()));
        self
    }

    /// Requests have the trace context of their calls.
    pub fn traced(mut self) -> Self {
        self.server.push(("trace", "true".to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.server
            .push(("env", format!("{{ {name} = {} }}", quoted(value))));
        self
    }

    pub fn with(mut self, method: MethodToml) -> Self {
        self.methods.push(method);
        self
    }

    /// A method whose published and local names are `name`.
    pub fn plain(self, name: &str) -> Self {
        self.with(method(name, name))
    }
}

impl MethodToml {
    pub fn shared(self) -> Self {
        self.line("scope", quoted("shared"))
    }

    pub fn groups(self, groups: &[&str]) -> Self {
        self.line("groups", list(groups))
    }

    pub fn description(mut self, text: &str) -> Self {
        self.lines.retain(|(key, _)| *key != "description");
        self.line("description", quoted(text))
    }

    pub fn keywords(self, keywords: &[&str]) -> Self {
        self.line("keywords", list(keywords))
    }

    pub fn mcp_tool(self) -> Self {
        self.line("mcp_tool", "true".to_owned())
    }

    /// Adds any other line. The value is TOML.
    pub fn line(mut self, key: &'static str, value: impl ToString) -> Self {
        self.lines.push((key, value.to_string()));
        self
    }
}

impl fmt::Display for RegistrationToml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[server]")?;
        write_lines(f, &self.server)?;
        for method in &self.methods {
            writeln!(f, "\n[[methods]]")?;
            write_lines(f, &method.lines)?;
        }
        Ok(())
    }
}

fn write_lines(f: &mut fmt::Formatter<'_>, lines: &[(&str, String)]) -> fmt::Result {
    for (key, value) in lines {
        writeln!(f, "{key} = {value}")?;
    }
    Ok(())
}

/// For all texts of these tests, a JSON string is also a TOML string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(items: &[&str]) -> String {
    Value::from(items.to_vec()).to_string()
}
