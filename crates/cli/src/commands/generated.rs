//! `afterstate completions` and `afterstate man`: text that is generated from the arguments.

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::output::print;

const NAME: &str = "afterstate";

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), NAME, &mut script);
    print(String::from_utf8_lossy(&script))
}

pub fn man(args: &ManArgs) -> anyhow::Result<()> {
    let mut program = Args::command();
    // Global flags reach the commands.
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name).cloned();
            found.ok_or_else(|| anyhow::anyhow!("there is no command `{name}`"))?
        }
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text)?;
    print(String::from_utf8_lossy(&text))
}
