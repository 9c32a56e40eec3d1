//! `svc method call`: sends one call or a batch, and prints the answers or only their results.

use std::time::Duration;

use http::StatusCode;
use serde_json::value::RawValue;
use svc_client::{Client, Error};
use svc_protocol::{
    api::{CALL_PATH, MethodQuery},
    env,
};

use super::{
    call_request::{CallBody, batch, single},
    call_response::{Response, parse, parse_batch},
};
use crate::{
    commands::Shell,
    context::{self, Contexts, Via},
    exit::{Exit, Failure, Outcome},
    output::quote,
    prompt,
};

/// Call a method and print the JSON-RPC response
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc method call notes.add '{\"text\":\"hello\"}'\n  \
                   svc method call math.add '{\"a\":1,\"b\":2}' --result\n  \
                   svc method call math.add --batch '[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4}]'\n  \
                   echo '{\"query\":\"he\"}' | svc method call notes.search")]
pub struct Args {
    /// Name as `svc method list` shows it
    pub name: String,
    /// Params as JSON; `-` means stdin, the default if stdin is redirected; empty means {}
    #[arg(allow_hyphen_values = true)]
    pub params: Option<String>,
    /// Params are an array: one call per element
    #[arg(long)]
    pub batch: bool,
    /// Print only the result
    #[arg(long)]
    pub result: bool,
    /// Send a notification, which has no answer
    #[arg(long, conflicts_with = "result")]
    pub notify: bool,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "SECONDS", value_parser = prompt::parse_seconds)]
    pub timeout: Option<Duration>,
    /// Print the curl command instead of calling; it reads the token from $SVC_TOKEN
    #[arg(long)]
    pub curl: bool,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let params = prompt::argument_or_stdin(args.params)?;
    let bodies = if args.batch {
        batch(&args.name, &params, args.notify)?
    } else {
        vec![single(&args.name, &params, args.notify)?]
    };
    let connection = context::for_calls(shell.globals.context.as_deref(), &shell.environment)?;
    if args.curl {
        if let Via::Context(name) = &connection.via {
            let file = Contexts::path(&shell.environment.config_folder()?);
            eprintln!(
                "set {} first, either to the token of context `{name}` (stored in `{}`) or to a new token: svc token create <name>",
                env::TOKEN,
                file.display()
            );
        }
        for body in &bodies {
            let command = curl(&connection.client, &connection.via, &body.bytes);
            shell.output.line(command)?;
        }
        return Ok(Exit::Ok);
    }
    let call_timeout = connection.client.policy().call_timeout;
    let calls = Calls {
        shell,
        client: &connection.client,
        name: &args.name,
        within: args.timeout.unwrap_or(call_timeout),
        result_only: args.result,
    };
    if args.batch {
        calls.batch(bodies).await
    } else {
        let body = bodies.into_iter().next().expect("a single call has a body");
        calls.single(body).await
    }
}

/// Sends bodies and prints answers.
struct Calls<'a> {
    shell: &'a Shell,
    client: &'a Client,
    /// The name of the method.
    name: &'a str,
    within: Duration,
    result_only: bool,
}

impl Calls<'_> {
    /// Sends a body and returns the answer; `None` if the body has only notifications.
    async fn send(&self, body: CallBody) -> Result<Option<bytes::Bytes>, Failure> {
        let sent = self.client.call_raw_within(body.bytes, self.within).await;
        let (status, bytes) = sent.map_err(|error| match error {
            Error::Timeout { .. } => timed_out(self.name, self.within, &error),
            error => error.into(),
        })?;
        match status {
            StatusCode::OK => Ok(Some(bytes)),
            StatusCode::NO_CONTENT => Ok(None),
            status => Err(self.client.problem(status, &bytes).into()),
        }
    }

    async fn single(&self, body: CallBody) -> Outcome {
        let Some(answer) = self.send(body).await? else {
            return Ok(Exit::Ok);
        };
        let response = parse(&answer)?;
        let mut exit = response.exit();
        let unknown = self.find_unknown_local_name(exit).await;
        if unknown.is_some() {
            exit = Exit::MethodError;
        }
        if !self.result_only {
            self.shell.output.raw(&answer)?;
            if let Some(unknown) = unknown {
                eprintln!("hint: {unknown}");
            }
        } else if let Some(result) = response.result.filter(|_| exit == Exit::Ok) {
            self.shell.output.raw(result.get().as_bytes())?;
        } else {
            let text = response.error_text().unwrap_or_default();
            return Err(Failure {
                hint: unknown,
                ..Failure::new(exit, text)
            });
        }
        Ok(exit)
    }

    /// After the answer that the method does not exist: a sentence for the publisher, if the caller
    /// sees a method of this name. Then the error comes from the method server.
    async fn find_unknown_local_name(&self, exit: Exit) -> Option<String> {
        if exit != Exit::NotFound {
            return None;
        }
        let query = MethodQuery {
            name: Some(self.name.to_owned()),
            ..MethodQuery::default()
        };
        let listed = self.client.methods(&query).await.ok()?;
        let name = self.name;
        let why = "does not know this method; is `local_name` right?";
        (listed.count > 0).then(|| format!("the method server of `{name}` {why}"))
    }

    /// Prints the sentence for the publisher after the answers of a batch.
    async fn explain_unknown(&self, entries: &[&RawValue]) -> Result<(), Failure> {
        for entry in entries {
            let exit = parse(entry.get().as_bytes())?.exit();
            if exit == Exit::NotFound {
                if let Some(unknown) = self.find_unknown_local_name(exit).await {
                    eprintln!("hint: {unknown}");
                }
                break;
            }
        }
        Ok(())
    }

    async fn batch(&self, bodies: Vec<CallBody>) -> Outcome {
        // A single answer is printed unchanged.
        let is_unchanged = bodies.len() == 1 && !self.result_only;
        let (answers, failure) = self.send_all(bodies).await;
        let mut entries = Vec::new();
        for answer in &answers {
            entries.extend(parse_batch(answer)?);
        }
        let exit = exit_of(&entries)?;
        match (&answers[..], &failure) {
            // Only notifications.
            ([], None) => return Ok(exit),
            ([], Some(_)) if is_unchanged => {}
            ([answer], None) if is_unchanged => self.shell.output.raw(answer)?,
            _ => self.print_entries(&entries)?,
        }
        self.explain_unknown(&entries).await?;
        failure.map_or(Ok(exit), Err)
    }

    /// Sends one body after the other. After a failure, returns the earlier answers too.
    async fn send_all(&self, bodies: Vec<CallBody>) -> (Vec<bytes::Bytes>, Option<Failure>) {
        let total: usize = bodies.iter().map(|body| body.requests).sum();
        let mut answers = Vec::new();
        let mut sent = 0;
        if bodies.is_empty() {
            answers.push(bytes::Bytes::from_static(b"[]"));
        }
        for body in bodies {
            let requests = body.requests;
            match self.send(body).await {
                Ok(answer) => answers.extend(answer),
                Err(failure) if sent == 0 => return (answers, Some(failure)),
                Err(failure) => {
                    let what = format!("only the first {sent} of {total} calls were answered");
                    return (answers, Some(failure.doing(what)));
                }
            }
            sent += requests;
        }
        (answers, None)
    }

    fn print_entries(&self, entries: &[&RawValue]) -> Result<(), Failure> {
        let mut out = vec![b'['];
        for (index, entry) in entries.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if !self.result_only {
                out.extend_from_slice(entry.get().as_bytes());
                continue;
            }
            let response: Response<'_> = parse(entry.get().as_bytes())?;
            if let Some(error) = response.error_text() {
                let id = response.id.map_or("null", RawValue::get);
                eprintln!("error: call {id}: {error}");
            }
            out.extend_from_slice(response.result.map_or("null", RawValue::get).as_bytes());
        }
        out.push(b']');
        self.shell.output.raw(&out)
    }
}

/// The method may still run, because this command does not cancel a call that was sent.
fn timed_out(method: &str, within: Duration, error: &Error) -> Failure {
    let seconds = within.as_secs_f64();
    let what = format!("`{method}` did not answer within {seconds} s; it may still be running");
    Failure::timeout(what).why(error)
}

/// Exit code 3 if any entry is an error.
fn exit_of(entries: &[&RawValue]) -> Result<Exit, Failure> {
    for entry in entries {
        if parse(entry.get().as_bytes())?.exit() != Exit::Ok {
            return Ok(Exit::MethodError);
        }
    }
    Ok(Exit::Ok)
}

/// The same call as a curl command. It never contains the token, because users share such commands.
fn curl(client: &Client, via: &Via, body: &[u8]) -> String {
    let access = match via {
        Via::Agent(socket) => format!("--unix-socket {}", quote(&socket.display().to_string())),
        Via::Environment | Via::Context(_) => {
            format!("-H \"Authorization: Bearer ${}\"", env::TOKEN)
        }
    };
    let url = quote(&client.target().url(CALL_PATH));
    let body = quote(&String::from_utf8_lossy(body));
    format!("curl -sS {access} -H 'Content-Type: application/json' --data-binary {body} {url}")
}

#[cfg(test)]
mod tests {
    use svc_client::Target;

    use super::*;

    #[test]
    fn the_curl_command_quotes_for_the_shell_and_holds_no_token() {
        let target = Target::parse("http://127.0.0.1:12200", None).expect("an address");
        let client = Client::new(target).with_token("svc_pat_1");
        let body = br#"{"params":{"text":"it's"}}"#;
        for via in [Via::Environment, Via::Context("up".into())] {
            assert_eq!(
                curl(&client, &via, body),
                r#"curl -sS -H "Authorization: Bearer $SVC_TOKEN" -H 'Content-Type: application/json' --data-binary '{"params":{"text":"it'\''s"}}' 'http://127.0.0.1:12200/api/methods/call'"#
            );
        }
        let command = curl(&client, &Via::Agent("/run/a.sock".into()), b"{}");
        assert!(command.contains("--unix-socket '/run/a.sock'"), "{command}");
        assert!(!command.contains("svc_pat_1"), "{command}");
    }

    #[test]
    fn any_error_in_a_batch_is_exit_3() {
        let entries = |body: &'static str| parse_batch(body.as_bytes()).expect("an array");
        let good = entries(r#"[{"result":1,"id":1},{"result":2,"id":2}]"#);
        assert_eq!(exit_of(&good).expect("readable"), Exit::Ok);
        let bad =
            entries(r#"[{"result":1,"id":1},{"error":{"code":-32601,"message":"m"},"id":2}]"#);
        assert_eq!(exit_of(&bad).expect("readable"), Exit::MethodError);
    }
}
