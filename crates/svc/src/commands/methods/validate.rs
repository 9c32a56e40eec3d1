//! `svc methods validate`: checks a registration without an agent or a server.

use std::path::Path;

use serde_json::Value;
use svc_core::registration::{CheckedMethod, Registration};

use super::{ALL_UNREGISTERED, Names, Source, script, warn};
use crate::{
    commands::{Shell, own_script::on_plain_thread},
    exit::{Exit, Outcome},
    output::Column,
};

pub fn run(shell: &Shell, file: &Path, space: &str, owner: &str) -> Outcome {
    let names = Names::parse(space, owner)?;
    let (name, registration, checked) = if script::is_script(file) {
        let script = script::read(shell, file)?;
        let recorded = on_plain_thread(|| script::record(shell, &script, &names))?;
        let name = script.source.file;
        let checked = recorded.check(&name, &names)?;
        let mut registration = recorded.registration.clone();
        recorded.retain(&mut registration.methods);
        (name, registration, checked)
    } else {
        let source = Source::read(shell, file)?;
        let (registration, checked) = source.registration(&names)?;
        (source.name, registration, checked)
    };
    warn(&checked.warnings);
    let columns: [Column<CheckedMethod>; 3] = [
        ("METHOD", |method| method.name.to_string()),
        ("LOCAL NAME", |method| method.local_name.clone()),
        ("SCOPE", |method| method.scope.to_string()),
    ];
    let (output, document) = (&shell.output, normal_form(registration));
    output.list(&document, ALL_UNREGISTERED, &checked.methods, &columns)?;
    eprintln!("`{name}` is valid");
    Ok(Exit::Ok)
}

/// The registration with all defaults and with sorted keys in schemas: equal registrations have
/// equal texts, from TOML and from scripts.
fn normal_form(mut registration: Registration) -> Registration {
    for method in &mut registration.methods {
        for schema in [&mut method.params_schema, &mut method.result_schema] {
            schema.iter_mut().for_each(Value::sort_all_objects);
        }
    }
    registration
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_protocol::registration_file::parse;

    use super::*;

    #[test]
    fn equal_registrations_have_one_normal_form() {
        let toml = r#"
            [server]
            command = "svc"
            [[methods]]
            name = "a"
            local_name = "a"
            description = "d"
            params_schema = { type = "object", properties = { b = { minLength = 1, type = "string" } } }
        "#;
        let object = json!({
            "server": {"type": "stdio", "command": "svc", "args": [], "timeout": 30,
                       "mode": "concurrent"},
            "methods": [{
                "name": "a", "local_name": "a", "description": "d", "keywords": [],
                "scope": "private", "groups": [], "mcp_tool": false,
                "params_schema": {"properties": {"b": {"type": "string", "minLength": 1}},
                                  "type": "object"},
                "result_schema": null, "events": [], "event_sinks": [],
            }],
        });
        let written = parse("a.toml", toml).expect("valid");
        let built: Registration = serde_json::from_value(object).expect("valid");
        let text = |registration| json!(normal_form(registration)).to_string();
        assert_eq!(text(written), text(built));
    }
}
