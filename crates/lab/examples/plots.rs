//! Draws the blocks of a training without a folder, as bytes that a server could send:
//! `cargo run --example plots`

use std::sync::{Arc, Mutex, PoisonError};

use afterstate_lab::control::{Control, Event};
use afterstate_lab::curve::Curve;
use afterstate_lab::plot::plots;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let overrides = ["tuples=8x4", "episodes=1000", "block_games=100"].map(str::to_owned);
    let blocks = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&blocks);
    let control = Control::new().on_event(move |event| {
        if let Event::Block(block) = event {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(block.clone());
        }
    });
    let mut trainer = Trainer::in_memory(Recipe::load("quick", &overrides)?, &control)?;
    trainer.train()?;
    let recipe = trainer.recipe();
    let blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
    let curve = Curve::new(recipe.title(), &blocks, recipe.value_unit());
    for plot in plots(&[curve], "A short training")? {
        let (svg, png) = (plot.svg().into_bytes(), plot.png()?);
        println!(
            "{}: {} bytes as SVG, {} bytes as PNG",
            plot.name(),
            svg.len(),
            png.len()
        );
    }
    Ok(())
}
