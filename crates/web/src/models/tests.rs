//! Models that are read while others are asked for.

use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;

use super::*;
use crate::Config;

/// While a model is read, which takes as long as this lock is held, requests that ask for it hold
/// no place of the quick queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_being_read_holds_up_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let set = ["board=2x3", "tuples=012", "episodes=10", "threads=1"].map(str::to_owned);
    let recipe = Recipe::load("quick", &set).unwrap();
    let run = folder.path().join("small");
    let mut trainer = Trainer::new(recipe, &run, &Control::new()).unwrap();
    trainer.train().unwrap();
    let app = AppState::new(&Config::new(folder.path())).unwrap();
    let shape = afterstate_lab::games::shape(2, 3).unwrap();
    let (read, reading) = std::sync::mpsc::channel::<()>();
    let (begun, begins) = std::sync::mpsc::channel();
    let holder = app.clone();
    let held = std::thread::spawn(move || {
        let _loading = lock(&holder.models.cache.loading);
        begun.send(()).unwrap();
        let _ = reading.recv();
    });
    begins.recv().unwrap();
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let app = app.clone();
            tokio::spawn(async move { app.need_model(Some("small"), "2048", shape).await })
        })
        .collect();
    let quick = app.quick.run(|_| Ok(3));
    let quick = tokio::time::timeout(Duration::from_secs(20), quick).await;
    assert_eq!(quick.unwrap(), Ok(3));
    assert!(asked.iter().all(|one| !one.is_finished()));
    drop(read);
    held.join().unwrap();
    for one in asked {
        assert!(one.await.unwrap().is_ok());
    }
}
