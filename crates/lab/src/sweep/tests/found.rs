//! Sweeps that are found by their folders.

use super::{SMALL, SweepFolder};
use crate::runs::list_runs;
use crate::sweep::sweeps_of;

#[test]
fn a_sweep_is_found_by_its_folder_with_and_without_a_table() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    let root = folder.path("runs");
    let out = root.join("group/small");
    let results = folder.run(&sweep, "runs/group/small", 2);

    // The table is not written yet: variants have the names of their folders.
    let runs = list_runs(&root).unwrap();
    let found = sweeps_of(&root, &runs);
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].folder, &found[0].heading), (&out, &None));
    let folders: Vec<&String> = sweep.variants.iter().map(|it| &it.folder).collect();
    let names: Vec<&String> = found[0].variants.iter().map(|it| &it.name).collect();
    assert_eq!(names.len(), 2);
    assert!(folders.iter().all(|it| names.contains(it)), "{names:?}");

    let summary = sweep.summary(&out, &results).unwrap();
    summary.save(&out).unwrap();
    let found = sweeps_of(&root, &runs).remove(0);
    let heading = found.heading.as_ref().unwrap();
    assert!(
        heading.starts_with("small: 2048 on 3x3, mean score of 60"),
        "{heading}"
    );
    for (variant, row) in found.variants.iter().zip(&summary.variants) {
        assert_eq!(variant.name, row.name);
        assert_eq!(variant.runs.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
        let saved = variant.row.as_ref().unwrap();
        assert_eq!((saved.mean, saved.difference), (row.mean, row.difference));
        assert_eq!(saved.mean_low, row.mean_ci95.map(|it| it[0]));
        assert_eq!((saved.seeds, saved.diverged), (3, 0));
        assert_eq!(saved.speed_unit, "games/s");
        let tile = row.tiles.iter().find(|it| Some(it.tile) == saved.tile);
        assert_eq!(saved.reach, tile.map(|it| it.reach.mean));
    }
    let curves = found.curves();
    assert_eq!(curves.len(), 2);
    let games: Vec<u64> = curves[1].points.iter().map(|it| it.games).collect();
    assert_eq!(
        (&curves[1].label[..], curves[1].seeds.len()),
        ("TD / 0.1", 3)
    );
    assert!(games.len() >= 3 && games.is_sorted(), "{games:?}");

    // A run of its own is no sweep, and neither are variants beside other runs.
    let alone = list_runs(&out).unwrap();
    assert_eq!(sweeps_of(&out, &alone), []);
}
