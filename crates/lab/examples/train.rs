//! Trains without a folder, with every event as a line of JSON, and plays with the agent.

use afterstate_lab::agent::RoundSpec;
use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let overrides = [
        "tuples=8x4",
        "episodes=2000",
        "block_games=500",
        "threads=1",
    ];
    let recipe = Recipe::load("quick", &overrides.map(str::to_owned))?;
    let control = Control::new().on_event(|event| match serde_json::to_string(event) {
        Ok(line) => println!("{line}"),
        Err(error) => eprintln!("{error}"),
    });
    let mut trainer = Trainer::in_memory(recipe, &control)?;
    trainer.train()?;
    let outcomes = trainer.agent().play(&RoundSpec::new(0..100, 7, 1), None);
    let score: u64 = outcomes.iter().map(|outcome| outcome.score).sum();
    println!("mean of 100 games: {}", score / 100);
    Ok(())
}
