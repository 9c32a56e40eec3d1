//! `svc man`: writes the manual pages, one for each command that the help shows. Packages contain
//! these pages.

use std::{fs, io, path::PathBuf};

use clap::CommandFactory;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

use super::Shell;
use crate::{
    cli::Cli,
    exit::{Exit, OrFail, Outcome},
};

/// Write the manual pages into a folder
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc man /usr/local/share/man/man1")]
pub struct Args {
    /// Folder of the pages; created if it is missing
    folder: PathBuf,
}

pub fn run(shell: &Shell, args: &Args) -> Outcome {
    let folder = shell.environment.absolute(&args.folder);
    write(&folder).or_fail_at("cannot write to", &folder)?;
    Ok(Exit::Ok)
}

fn write(folder: &std::path::Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, page) in pages()? {
        fs::write(folder.join(name), page)?;
    }
    Ok(())
}

/// The pages by their file names.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut tree = Cli::command().disable_help_subcommand(true);
    tree.build();
    let mut pages = Vec::new();
    add_pages(&tree, &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let man = Man::new(command.clone());
    pages.push((man.get_filename(), page(command, &man)?));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        add_pages(sub, pages)?;
    }
    Ok(())
}

fn page(command: &clap::Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    add_examples(command, &mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if command.get_after_help().is_some() || command.get_after_long_help().is_some() {
        man.render_extra_section(&mut page)?;
    }
    Ok(page)
}

/// The examples, which the help shows first.
fn add_examples(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let Some(examples) = command.get_before_help() else {
        return Ok(());
    };
    let mut roff = Roff::default();
    roff.control("SH", ["EXAMPLES"]);
    roff.control("nf", []);
    for line in examples.to_string().lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.to_writer(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_examples() {
        let pages = pages().expect("written to memory");
        let find = |name: &str| {
            let (_, page) = pages.iter().find(|(page, _)| page == name).expect(name);
            String::from_utf8_lossy(page).replace("\\-", "-")
        };
        let start = find("svc-server-start.1");
        assert!(start.contains("EXAMPLES"), "{start}");
        assert!(start.contains("--tls-cert cert.pem"), "{start}");
        assert!(start.contains("Private key in PEM"), "{start}");
        assert!(find("svc.1").contains("svc-server"));
        assert!(!pages.iter().any(|(name, _)| name.contains("help")));
        assert!(!pages.iter().any(|(name, _)| name == "svc-script-worker.1"));
    }
}
