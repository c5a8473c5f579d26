//! `afterstate recipes`: lists the built-in recipes.

use std::fmt::Write;

use afterstate_lab::recipe::{Limit, Recipe};
use afterstate_lab::spec::{BuiltinRecipe, NetworkSize};
use anyhow::bail;

use crate::args::RecipesArgs;
use crate::output::{grouped, print, print_json, tell};

pub fn run(args: &RecipesArgs) -> anyhow::Result<()> {
    match (&args.name, args.json) {
        (Some(name), false) => {
            print(text_of(name)?)?;
            // Standard output is the file, which may become a recipe of one's own.
            let size = NetworkSize::of(&Recipe::load(name, &[])?)?;
            tell(&format!("The network has {size}."));
            Ok(())
        }
        (Some(name), true) => {
            text_of(name)?;
            print_json(&Recipe::load(name, &[])?)
        }
        (None, false) => print(list()?),
        (None, true) => print_json(&BuiltinRecipe::all()?),
    }
}

fn text_of(name: &str) -> anyhow::Result<&'static str> {
    let builtin = Recipe::builtin().iter().find(|(known, _)| *known == name);
    if let Some((_, text)) = builtin {
        return Ok(text);
    }
    // Loading an unknown name says what is wrong with it.
    Recipe::load(name, &[])?;
    bail!("{name} is a file; only built-in recipes can be printed")
}

fn list() -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, _) in Recipe::builtin() {
        let recipe = Recipe::load(name, &[])?;
        let length = match recipe.learner.limit() {
            None => format!("{} games", grouped(recipe.episodes as f64)),
            Some(Limit::Iterations(most)) => format!("{} iterations", grouped(most as f64)),
            Some(Limit::Updates(most)) => format!("{} updates", grouped(most as f64)),
        };
        writeln!(
            text,
            "{name}\n  for:     {}\n  length:  {length}",
            recipe.purpose
        )?;
        writeln!(text, "  network: {}", NetworkSize::of(&recipe)?)?;
        writeln!(
            text,
            "  reaches: {}\n  time:    {}\n",
            recipe.result, recipe.time
        )?;
    }
    text.push_str(
        "Train one with `afterstate train NAME`; print its file with `afterstate recipes NAME`.\n",
    );
    Ok(text)
}
