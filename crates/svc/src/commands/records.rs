//! List, show, find, create, update and remove: shared by the commands of all resources.

use std::collections::BTreeMap;

use clap::CommandFactory;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use svc_client::{Client, Error, Resource};
use svc_protocol::api::{Listing, PageQuery};

use super::Shell;
use crate::{
    cli::Cli,
    exit::{Exit, Failure, OrFail, Outcome},
    output::{Fields, Table, joined},
};

/// Entries of a long list that are shown without `--limit`.
pub const LIMIT_DEFAULT: u32 = 50;

/// A resource that commands print and find.
pub trait Record: Resource {
    /// The head of a list. A column has the first field whose name begins as the column is called.
    const HEAD: &'static [&'static str];

    /// The record shown alone. Destructure the whole record, so that a new field does not compile
    /// until it is shown or left out on purpose.
    fn fields(&self) -> Fields;

    /// The cell of a column that has no field, or another text than its field.
    fn cell(&self, _column: &str) -> Option<String> {
        None
    }

    /// The record in a list, one cell for each column of the head.
    fn row(&self) -> Vec<String> {
        let fields = self.fields();
        let of_field = |column: &str| {
            let name = column.to_lowercase();
            let field = fields.iter().find(|(field, _)| field.starts_with(&name));
            field.map_or_else(String::new, |(_, text)| text.clone())
        };
        let cell = |column: &&str| self.cell(column).unwrap_or_else(|| of_field(column));
        Self::HEAD.iter().map(cell).collect()
    }

    /// The message after the removal.
    fn removed(&self) -> String {
        format!("removed {} `{}`", Self::KIND, self.name())
    }

    async fn find(client: &Client, reference: &str) -> Result<Self, Error> {
        client.find(reference).await
    }
}

/// A page of a list. Without options: the whole list, or the first [`LIMIT_DEFAULT`] entries of a
/// list that can be long.
#[derive(clap::Args, Debug, Default)]
pub struct ListArgs {
    /// Maximum number of entries; the JSON output has the cursor of the next page
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Cursor of the page, from the JSON output of the previous page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

impl ListArgs {
    /// The page to show of a long list: [`LIMIT_DEFAULT`] entries without `--limit`.
    pub fn page(self) -> PageQuery {
        PageQuery {
            limit: self.limit.or(Some(LIMIT_DEFAULT)),
            cursor: self.cursor,
        }
    }
}

/// A record to act on.
#[derive(clap::Args, Debug)]
pub struct NameArg {
    /// Name or id
    pub name: String,
}

/// Names or ids to act on.
#[derive(clap::Args, Debug)]
pub struct NameArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

pub async fn list<R: Record>(shell: &Shell, args: ListArgs) -> Outcome {
    list_matching::<R>(shell, args, &()).await
}

/// Lists the records that a query selects.
pub async fn list_matching<R: Record>(
    shell: &Shell,
    args: ListArgs,
    query: &impl Serialize,
) -> Outcome {
    let client = shell.client()?;
    let document = match args {
        ListArgs {
            limit: None,
            cursor: None,
        } => R::List::from_page(client.list_all::<R::List>(query).await?, None),
        ListArgs { limit, cursor } => client.list(&PageQuery { limit, cursor }, query).await?,
    };
    shell.output.document(&document, || {
        let empty = format!("no {}s", R::KIND);
        Table::list(R::HEAD, empty, document.items(), R::row)
    })
}

pub async fn get<R: Record>(shell: &Shell, reference: &str) -> Outcome {
    show::<R>(shell, &find(&shell.client()?, reference).await?)
}

/// Prints one record.
pub fn show<R: Record>(shell: &Shell, record: &R) -> Outcome {
    shell.output.record(record, || record.fields())
}

pub async fn find<R: Record>(client: &Client, reference: &str) -> Result<R, Failure> {
    let found = R::find(client, reference).await;
    found.map_err(|error| with_list_hint::<R>(error.into()))
}

/// A client, and the record that the command acts on.
pub async fn open<R: Record>(shell: &Shell, reference: &str) -> Result<(Client, R), Failure> {
    let client = shell.client()?;
    let record = find::<R>(&client, reference).await?;
    Ok((client, record))
}

pub fn with_list_hint<R: Resource>(failure: Failure) -> Failure {
    failure.hint_for(Exit::NotFound, format!("svc {} list", R::KIND))
}

pub async fn create<R: Record>(shell: &Shell, fixed: Value, settings: &R::Patch) -> Outcome
where
    R::New: DeserializeOwned,
{
    let new = new_record::<R>(fixed, settings)?;
    show::<R>(shell, &shell.client()?.create(&new).await?)
}

/// The body that creates a record: the members of `fixed`, which never change, and those of a patch
/// with the settings of the new record. `null`, which resets a member, is the default of a new one.
pub fn new_record<R: Resource>(fixed: Value, settings: &R::Patch) -> Result<R::New, Failure>
where
    R::New: DeserializeOwned,
{
    #[derive(Serialize)]
    struct Body<'a, P> {
        #[serde(flatten)]
        fixed: Value,
        #[serde(flatten)]
        settings: &'a P,
    }
    let read = || {
        // As texts: a number in a payload may be more exact than a `Value`.
        let text = serde_json::to_string(&Body { fixed, settings })?;
        let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&text)?;
        members.retain(|_, value| value.get() != "null");
        serde_json::from_str(&serde_json::to_string(&members)?)
    };
    let new: serde_json::Result<_> = read();
    new.or_usage(format!("the new {} is not valid", R::KIND))
}

pub async fn update<R: Record>(shell: &Shell, reference: &str, patch: &R::Patch) -> Outcome {
    check_patch::<R>(patch)?;
    let (client, record) = open::<R>(shell, reference).await?;
    show::<R>(shell, &client.update(record.id(), patch).await?)
}

/// Rejects a patch that changes nothing: no option of the command was given.
pub fn check_patch<R: Resource>(patch: &R::Patch) -> Result<(), Failure> {
    let patch = serde_json::to_value(patch).unwrap_or_default();
    if patch != serde_json::json!({}) {
        return Ok(());
    }
    let command = Cli::command();
    let options = command
        .find_subcommand(R::KIND)
        .and_then(|kind| kind.find_subcommand("update"))
        .into_iter()
        .flat_map(|update| update.get_arguments().filter_map(clap::Arg::get_long))
        .map(|name| format!("--{name}"));
    Err(Failure::usage("no change was given")
        .why(format!("the options are {}", joined(options)))
        .hint(format!("svc {} update --help", R::KIND)))
}

pub async fn remove<R: Record>(shell: &Shell, which: &NameArgs) -> Outcome {
    let client = shell.client()?;
    for name in &which.names {
        let record: R = find(&client, name).await?;
        client.delete::<R>(record.id()).await?;
        eprintln!("{}", record.removed());
    }
    Ok(Exit::Ok)
}

/// The words of a list option; `''` means the empty list.
pub fn words(given: Vec<String>) -> Vec<String> {
    given.into_iter().filter(|word| !word.is_empty()).collect()
}

/// The words of a list option; `None` if the option was not given.
pub fn words_if_given(given: Vec<String>) -> Option<Vec<String>> {
    (!given.is_empty()).then(|| words(given))
}

/// `None` for a text without characters, which removes the setting.
pub fn unless_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
