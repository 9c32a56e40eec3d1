//! List, show, find and remove: shared by the commands of all resources.

use svc_client::{Listing, Resource};
use svc_protocol::api::PageQuery;

use super::Shell;
use crate::{
    exit::{Exit, Failure, Outcome},
    output::Table,
};

/// A page of a list. Without options, the whole list.
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
    pub fn page(&self) -> PageQuery {
        PageQuery {
            limit: self.limit,
            cursor: self.cursor.clone(),
        }
    }

    pub fn is_whole(&self) -> bool {
        self.limit.is_none() && self.cursor.is_none()
    }
}

/// Names or ids to act on.
#[derive(clap::Args, Debug)]
pub struct NameArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

pub async fn list<L: Listing>(
    shell: &Shell,
    args: &ListArgs,
    head: &[&'static str],
    row: impl Fn(&L::Item) -> Vec<String>,
) -> Outcome {
    let client = shell.client()?;
    let document = if args.is_whole() {
        L::whole(client.list_all::<L>().await?)
    } else {
        client.list::<L>(&args.page()).await?
    };
    shell.output.document(&document, || {
        let mut table = Table::new(head);
        for item in document.items() {
            table.row(row(item));
        }
        table
    })?;
    Ok(Exit::Ok)
}

/// Prints one record.
pub fn show<R: Resource>(
    shell: &Shell,
    record: &R,
    fields: impl FnOnce(&R) -> Vec<(&'static str, String)>,
) -> Outcome {
    shell
        .output
        .document(record, || Table::record(fields(record)))?;
    Ok(Exit::Ok)
}

pub async fn find<R: Resource>(shell: &Shell, name: &str) -> Result<R, Failure> {
    shell
        .client()?
        .find::<R>(name)
        .await
        .map_err(|error| with_list_hint::<R>(error.into()))
}

pub fn with_list_hint<R: Resource>(failure: Failure) -> Failure {
    if failure.exit == Exit::NotFound && failure.hint.is_none() {
        failure.hint(format!("svc {} list", R::KIND))
    } else {
        failure
    }
}

pub async fn remove<R: Resource>(shell: &Shell, which: &NameArgs) -> Outcome {
    let client = shell.client()?;
    for name in &which.names {
        let record = client
            .find::<R>(name)
            .await
            .map_err(|error| with_list_hint::<R>(error.into()))?;
        client.delete::<R>(record.id()).await?;
        eprintln!("removed {} `{}`", R::KIND, record.name());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_word_empties_a_list() {
        let given = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words_if_given(given(&[])), None);
        assert_eq!(words_if_given(given(&[""])), Some(vec![]));
        assert_eq!(words_if_given(given(&["a", "b"])), Some(given(&["a", "b"])));
    }
}
