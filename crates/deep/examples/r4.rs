//! R4's network in R4's loop, and how fast it learns: `cargo run --release -p afterstate-deep --example r4 -- 2000`, the number of
//! iterations.

use std::time::Instant;

use afterstate::game::Classic;
use afterstate::replay::{Curriculum, Overwrite, School, Study};
use afterstate_deep::{Architecture, Dqn, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |n: usize| std::env::args().nth(n);
    let iterations: u64 = argument(1).map_or(Ok(1000), |text| text.parse())?;
    let discount: f32 = argument(2).map_or(Ok(0.999), |text| text.parse())?;
    let settings = Settings {
        discount,
        ..Settings::default()
    };
    let mut pupil = Dqn::new(&Architecture::r4(4), settings, 1)?;
    let curriculum = Curriculum {
        games: 32,
        memory: 5000,
        overwrite: Overwrite::Oldest,
        batches: 5,
        batch: 32,
        epsilon: 0.1,
        epsilon_iterations: iterations / 2,
    };
    let mut school = School::new(Classic::new(), curriculum, 1);
    let (mut study, mut average, mut games) = (Study::default(), None::<f64>, 0);
    let mut begun = Instant::now();
    for iteration in 1..=iterations {
        let learned = school.iterate(&mut pupil, |outcome| {
            games += 1;
            let score = outcome.score as f64 / 2.0;
            average = Some(0.99 * average.unwrap_or(score) + 0.01 * score);
        });
        study.merge(&learned);
        if iteration % 200 == 0 {
            let seconds = begun.elapsed().as_secs_f64();
            println!(
                "{iteration} iterations, {games} games: {:.1} updates/s, loss {:.4}, Q {:.3}, reward {:.2}, average {:.1} in R4's scoring",
                study.updates as f64 / seconds,
                study.mean_loss(),
                study.mean_value(),
                study.mean_reward(),
                average.unwrap_or(0.0),
            );
            (study, begun) = (Study::default(), Instant::now());
        }
    }
    Ok(())
}
