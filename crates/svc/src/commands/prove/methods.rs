//! `svc prove-methods`: the method server of `svc prove`. It records the number of each call in a
//! file before it answers.

use std::{
    fs::OpenOptions,
    io::{self, BufRead, Write},
    path::PathBuf,
};

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::exit::{Exit, OrFail, Outcome};

/// Record calls; the agent of `svc prove` starts this process
#[derive(clap::Args, Debug)]
pub struct Args {
    /// File to which the numbers are appended
    file: PathBuf,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    n: u64,
}

pub fn run(args: &Args) -> Outcome {
    let served = serve(args, io::stdin().lock(), io::stdout().lock());
    served.or_fail_at("cannot record calls in", &args.file)?;
    Ok(Exit::Ok)
}

fn serve(args: &Args, requests: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&args.file)?;
    for line in requests.lines() {
        let line = line?;
        let Ok(request) = serde_json::from_str::<Request<'_>>(&line) else {
            continue;
        };
        let (Some(id), Some(params)) = (request.id, request.params) else {
            continue;
        };
        file.write_all(format!("{}\n", params.n).as_bytes())?;
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": true});
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_recorded_once_and_answered() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("calls.txt");
        let requests = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"push\",\"params\":{\"n\":3}}\n\
                        {\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\",\"params\":{\"id\":7}}\nnonsense\n";
        let mut answers = Vec::new();
        let args = Args { file: file.clone() };
        serve(&args, requests.as_bytes(), &mut answers).expect("served");
        assert_eq!(std::fs::read_to_string(file).expect("written"), "3\n");
        let answers = String::from_utf8(answers).expect("text");
        assert_eq!(answers, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":true}\n");
    }
}
