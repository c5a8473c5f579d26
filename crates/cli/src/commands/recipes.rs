//! `afterstate recipes`: what can be trained.

use std::fmt::Write;

use afterstate_lab::recipe::{Recipe, RecipeError};

use crate::args::RecipesArgs;
use crate::output::{grouped, print};

pub fn run(args: &RecipesArgs) -> anyhow::Result<()> {
    match &args.name {
        Some(name) => print(text_of(name)?),
        None => print(list()?),
    }
}

fn text_of(name: &str) -> Result<&'static str, RecipeError> {
    let builtin = Recipe::builtin().iter().find(|(known, _)| *known == name);
    // Loading an unknown name says what is wrong with it.
    builtin.map_or_else(
        || Recipe::load(name, &[]).map(|_| FILE),
        |(_, text)| Ok(text),
    )
}

/// The answer to a file that can be trained by: its text is where it came from.
const FILE: &str = "# this is a recipe file of your own; only built-in recipes are printed\n";

fn list() -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, _) in Recipe::builtin() {
        let recipe = Recipe::load(name, &[])?;
        let games = grouped(recipe.episodes as f64);
        writeln!(
            text,
            "{name}\n  for:     {}\n  games:   {games}",
            recipe.purpose
        )?;
        writeln!(
            text,
            "  reaches: {}\n  time:    {}\n",
            recipe.figure, recipe.time
        )?;
    }
    text.push_str(
        "Train one with `afterstate train NAME`; print its file with `afterstate recipes NAME`.\n",
    );
    Ok(text)
}
