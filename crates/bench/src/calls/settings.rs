//! The options of a run.

use std::path::PathBuf;

use anyhow::{Context, bail};

pub struct Settings {
    pub rounds: usize,
    /// Measures only cases with this text in their name.
    pub only: Option<String>,
    /// Also measures many methods, many links and a reconnect storm.
    pub scale: bool,
    /// Pins the measured HTTP servers to one core, and all other processes to another core.
    pub pin: bool,
    /// Counts instructions per call with callgrind, instead of measuring time.
    pub instructions: bool,
    /// A document whose tables are replaced by the results.
    pub document: Option<PathBuf>,
}

pub const USAGE: &str =
    "calls [--rounds N] [--only CASE] [--no-scale] [--no-pin] [--instructions] [--document FILE]";

impl Settings {
    pub fn parse(mut args: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut settings = Self {
            rounds: 20,
            only: None,
            scale: true,
            pin: true,
            instructions: false,
            document: None,
        };
        while let Some(arg) = args.next() {
            let mut value = || {
                args.next()
                    .with_context(|| format!("`{arg}` needs a value; {USAGE}"))
            };
            match arg.as_str() {
                "--rounds" => settings.rounds = value()?.parse().context("--rounds")?,
                "--only" => settings.only = Some(value()?),
                "--document" => settings.document = Some(value()?.into()),
                "--no-scale" => settings.scale = false,
                "--no-pin" => settings.pin = false,
                "--instructions" => settings.instructions = true,
                _ => bail!("unknown option `{arg}`; {USAGE}"),
            }
        }
        Ok(settings)
    }
}
