//! `svc script create` and `svc script update`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use svc_client::Resource;
use svc_protocol::{
    api::{AnnotationsPatch, Script, ScriptKind, ScriptOwner, ScriptPatch},
    document,
};

use super::{ScriptArg, find, kinds};
use crate::{
    commands::{Shell, own_script, records, sink::read_text},
    environment::Environment,
    exit::{Failure, OrFail, Outcome},
    prompt,
};

/// Store a script; the server checks it first
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc script create words --kind library --file words.py\n  \
                   svc script create alarm --kind sink --file alarm.py --description 'Tells the team'\n  \
                   svc script create sum --kind tool --file sum.py --params-schema '{\"type\":\"object\"}' --annotations '{\"read_only\":true}'"
)]
pub struct CreateArgs {
    /// Name, unique among your scripts of this kind (with --global: among the global ones); a library is imported by this name
    name: String,
    /// Purpose of the script
    #[arg(long, value_parser = kinds())]
    kind: ScriptKind,
    /// Let all users use the script
    #[arg(long)]
    global: bool,
    #[command(flatten)]
    content: Content,
}

/// Change a script; a new source takes effect at the next run
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc script update words --file words.py\n  svc script update words --name word_lists"
)]
pub struct UpdateArgs {
    #[command(flatten)]
    which: ScriptArg,
    /// New name
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    content: Content,
}

#[derive(clap::Args, Debug, Default)]
struct Content {
    /// File with the source; `-` reads stdin, which is the default of `create`
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Description
    #[arg(long)]
    description: Option<String>,
    /// For a tool: JSON Schema of the params of `main`, or @file; on update '' removes it
    #[arg(long, value_name = "JSON|@FILE")]
    params_schema: Option<String>,
    /// For a tool: its name for people; on update '' removes it
    #[arg(long)]
    title: Option<String>,
    /// For a tool: hints for MCP clients, with the keys read_only, destructive, idempotent and
    /// open_world; on update, a key with the value null removes this hint, and '' removes all hints
    #[arg(long, value_name = "JSON")]
    annotations: Option<String>,
}

impl Content {
    /// `None` if the option was not given, `Some(None)` for an empty text.
    fn annotations(&self) -> Result<Option<Option<AnnotationsPatch>>, Failure> {
        let given = self.annotations.clone().map(records::unless_empty);
        let Some(Some(text)) = given else {
            return Ok(given.map(|_| None));
        };
        let known = document::read_json(text.as_bytes());
        let known = known.or_usage("`--annotations` must be a JSON object whose values are true or false (on update also null)");
        let known = known
            .map_err(|failure| failure.hint("such as --annotations '{\"read_only\": true}'"))?;
        Ok(Some(Some(known)))
    }

    /// `None` if the option was not given, `Some(None)` for an empty text.
    fn params_schema(&self, environment: &Environment) -> Result<Option<Option<Value>>, Failure> {
        let given = read_text(environment, self.params_schema.clone())?;
        let given = given.map(records::unless_empty);
        let Some(Some(text)) = given else {
            return Ok(given.map(|_| None));
        };
        let schema = document::read_exact_json(text.as_bytes());
        let schema = schema.or_usage("`--params-schema` is not a schema")?;
        Ok(Some(Some(schema)))
    }
}

fn read_source(environment: &Environment, file: &Path) -> Result<String, Failure> {
    if file == Path::new("-") {
        return prompt::read_stdin();
    }
    own_script::read_bounded(environment, file)
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let mut content = args.content;
    let file = content.file.get_or_insert_with(|| PathBuf::from("-"));
    if file.as_path() == Path::new("-") && prompt::can_ask() {
        return Err(Failure::usage("the script needs a source")
            .hint("name a file with --file, or pipe the source in"));
    }
    let owner = match args.global {
        true => ScriptOwner::Global,
        false => ScriptOwner::User,
    };
    let fixed = json!({"kind": args.kind, "owner": owner});
    let settings = patch(&shell.environment, Some(args.name), &content)?;
    records::create::<Script>(shell, fixed, &settings).await
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let patch = patch(&shell.environment, args.name, &args.content)?;
    let client = shell.client()?;
    let script = find::find(&client, &args.which.script, args.which.kind).await?;
    let script: Script = client.update(script.id(), &patch).await?;
    records::show(shell, &script)
}

fn patch(
    environment: &Environment,
    name: Option<String>,
    content: &Content,
) -> Result<ScriptPatch, Failure> {
    let read = |file: &Path| read_source(environment, file);
    let patch = ScriptPatch {
        name,
        description: content.description.clone(),
        params_schema: content.params_schema(environment)?,
        title: content.title.clone().map(records::unless_empty),
        annotations: content.annotations()?,
        // Last: it may wait for stdin, and an error in an option is reported before that.
        source: content.file.as_deref().map(read).transpose()?,
    };
    records::check_patch::<Script>(&patch)?;
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn an_update_sends_only_the_given_options_and_null_for_empty_ones() {
        let environment = Environment::of(Path::new("/nowhere"), &[]);
        let check = |name: Option<&str>, schema: Option<&str>, expected: Value| {
            let content = Content {
                params_schema: schema.map(str::to_owned),
                ..Content::default()
            };
            let patch = patch(&environment, name.map(str::to_owned), &content).expect("valid");
            assert_eq!(json!(patch), expected);
        };
        check(Some("n"), None, json!({"name": "n"}));
        check(None, Some(""), json!({"params_schema": null}));
        let schema = r#"{"type":"object"}"#;
        check(
            None,
            Some(schema),
            json!({"params_schema": {"type": "object"}}),
        );
        let hints = |title: &str, annotations: &str| {
            let content = Content {
                title: Some(title.to_owned()),
                annotations: Some(annotations.to_owned()),
                ..Content::default()
            };
            patch(&environment, None, &content).map(|patch| json!(patch))
        };
        assert_eq!(
            hints("Sum", r#"{"read_only":true,"destructive":null}"#).expect("valid"),
            json!({"title": "Sum", "annotations": {"read_only": true, "destructive": null}})
        );
        let emptied = json!({"title": null, "annotations": null});
        assert_eq!(hints("", "").expect("valid"), emptied);
        for wrong in [r#"{"readOnly":true}"#, r#"{"read_only":1}"#, "true"] {
            assert!(hints("", wrong).is_err(), "{wrong}");
        }
        for schema in [None, Some("{"), Some("@missing")] {
            let content = Content {
                params_schema: schema.map(str::to_owned),
                ..Content::default()
            };
            let failure = patch(&environment, None, &content).expect_err("refused");
            assert_eq!(failure.exit, Exit::Usage, "{schema:?}");
        }
    }
}
