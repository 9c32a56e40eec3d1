//! The options of a run.

use std::path::PathBuf;

use anyhow::{Context, bail};

pub struct Settings {
    pub rounds: usize,
    /// Only cases with this in their name, to profile one.
    pub only: Option<String>,
    /// Also measures many methods, many links and a reconnect storm.
    pub scale: bool,
    /// Gives the process that faces HTTP a core of its own.
    pub pin: bool,
    /// Counts instructions per call instead, by callgrind.
    pub instructions: bool,
    /// A document whose marks enclose the tables.
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
                _ => bail!("`{arg}` is not known; {USAGE}"),
            }
        }
        Ok(settings)
    }
}
