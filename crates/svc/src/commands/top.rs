//! `svc top`: a live view of methods, spaces and sinks.

mod figures;
mod view;

use std::time::Duration;

use http::StatusCode;
use svc_client::{Client, Error};
use svc_clock::now;
use svc_protocol::api::{CallQuery, Listing, MethodQuery, PAGE_MAX, PageQuery, Sinks, Spaces};
use tokio::time::sleep;

use self::view::View;
use super::{Shell, tail::is_transient};
use crate::{
    exit::{Exit, Outcome},
    output::Format,
};

/// Rates and latencies are computed from the calls that ended within this time before the view.
const WINDOW: Duration = Duration::from_secs(60);
/// Rows of a section, if the height of the terminal is not known or stdout is not a terminal.
const ROWS: usize = 20;

/// Show methods, spaces and sinks with their load, and refresh the view until stopped
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc top\n  svc top --once\n  svc top -o json | jq '.methods[0]'",
    after_help = "Rates and latencies are of the last minute, or of the newest 1,000 calls if there are more. \
                  They come from the call journal: if the server records no calls, they are 0. \
                  Without a terminal, the view is printed once."
)]
pub struct Args {
    /// Seconds between two views
    #[arg(long, default_value_t = 2, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Print one view and end
    #[arg(long)]
    once: bool,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let client = shell.client()?;
    let output = &shell.output;
    let for_people = output.format == Format::Table;
    if !for_people || args.once || !output.is_terminal {
        let view = read(&client).await?;
        if !for_people {
            return output.data(&view);
        }
        output.raw(view.text(output, ROWS).as_bytes())?;
        return Ok(Exit::Ok);
    }
    let mut was_shown = false;
    loop {
        match read(&client).await {
            Ok(view) => {
                output.screen(&view.text(output, rows_of(output.height)))?;
                was_shown = true;
            }
            // The server may restart after the first view.
            Err(error) if was_shown && is_transient(&error) => {
                output.screen(&format!("{error}; retrying\n"))?;
            }
            Err(error) => return Err(error.into()),
        }
        sleep(Duration::from_secs(args.every)).await;
    }
}

/// Rows of each of the three sections on a screen.
fn rows_of(height: Option<usize>) -> usize {
    // The other 12 lines: two at the top, one for the cursor, and for each section an empty line, a
    // head and "and N more".
    height.map_or(ROWS, |height| (height.saturating_sub(12) / 3).max(2))
}

/// Reads everything that the view shows. A section that the caller may not see is absent.
async fn read(client: &Client) -> Result<View, Error> {
    let at = now();
    let page = PageQuery {
        limit: Some(PAGE_MAX),
        ..PageQuery::default()
    };
    let query = CallQuery {
        since: Some(at.minus(WINDOW)),
        ..CallQuery::default()
    };
    let me = client.me().await?;
    let methods = client.methods(&MethodQuery::default()).await?.methods;
    let calls = client.recorded_calls(&page, &query).await?.calls;
    let stats = client.stats().await?;
    let mut spaces = permitted(list::<Spaces>(client, &page).await)?;
    let mut sinks = permitted(list::<Sinks>(client, &page).await)?;
    if let Some(spaces) = &mut spaces {
        spaces.sort_by_key(view::space_order);
    }
    if let Some(sinks) = &mut sinks {
        sinks.sort_by_key(view::sink_order);
    }
    let methods = figures::of_methods(me.id, methods, &calls, at, WINDOW);
    Ok(View {
        at,
        server: client.target().to_string(),
        username: me.username,
        calls_in_flight: stats.calls_in_flight,
        events_last_hour: stats.events_last_hour,
        methods,
        spaces,
        sinks,
    })
}

async fn list<L: Listing>(client: &Client, page: &PageQuery) -> Result<Vec<L::Item>, Error> {
    let (items, _) = client.list::<L>(page, &()).await?.into_page();
    Ok(items)
}

/// `None` if the caller may not read this.
fn permitted<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::Problem { status, .. }) if status == StatusCode::FORBIDDEN => Ok(None),
        Err(error) => Err(error),
    }
}
