//! Trains on one thread, asks the agent on another one, and cancels the training:
//! `cargo run --example cancel`

use std::thread;
use std::time::Duration;

use afterstate::game::Direction;
use afterstate_lab::analyze::analyze;
use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let overrides = ["tuples=8x4", "episodes=100000000", "threads=1"].map(str::to_owned);
    let control = Control::new();
    let mut trainer = Trainer::in_memory(Recipe::load("quick", &overrides)?, &control)?;
    let contender = trainer.contender();
    let training = thread::spawn(move || trainer.train().map(|status| (status, trainer.games())));
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(200));
        let analysis = analyze(&contender, "2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2")?;
        println!("best: {:?}", analysis.best.map(Direction::name));
    }
    control.cancel_token().cancel();
    let (status, games) = training.join().map_err(|_| "the training panicked")??;
    println!("{status:?} after {games} games");
    Ok(())
}
