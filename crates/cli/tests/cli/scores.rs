//! `plot` of files of scores: those of our runs, and of other programs.

use crate::common::Lab;

fn lab() -> Lab {
    let lab = Lab::new();
    let line = |n: u64| format!("episode : {n}, score : {}\n", 10 * n);
    lab.write("scores.txt", (1..=5000).map(line).collect::<String>());
    lab
}

fn dots(svg: &str) -> usize {
    svg.matches("<circle").count()
}

#[test]
fn dots_and_means_are_drawn_into_a_file_of_a_given_name() {
    let lab = lab();
    lab.run("plot scores.txt --every 50 --out every.svg")
        .succeeds();
    let svg = lab.text("every.svg");
    assert_eq!(dots(&svg), 100);
    assert!(svg.contains("a dot for every 50th game"), "{svg}");
    assert!(svg.contains("scores.txt: 5,000 games") && svg.contains("mean 25,005"));
    // A hundred dots are joined by a line, more are not.
    let (_, line) = svg.rsplit_once("points=\"").expect("a line");
    assert_eq!(line.split('"').next().unwrap().split(' ').count(), 100);
    lab.run("plot scores.txt --every 20 --y 0..48000 --out many.svg")
        .succeeds();
    let many = lab.text("many.svg");
    assert_eq!(dots(&many), 240);
    let longest = many.split("points=\"").skip(1).map(|rest| {
        let (points, _) = rest.split_once('"').unwrap();
        points.split(' ').count()
    });
    assert_eq!(longest.max(), Some(2));
    // Both ends of an axis have a number.
    assert!(many.contains(">8k<") && many.contains(">48k<"), "{many}");

    // The means are those of the file: 500 games each, from 2,505 to 47,505.
    lab.run("plot scores.txt --mean 500 --out means.png")
        .succeeds();
    assert!(lab.bytes("means.png").starts_with(b"\x89PNG"));
    lab.run("plot scores.txt --mean 500 --y 0..50000 --out means.svg")
        .succeeds();
    let svg = lab.text("means.svg");
    let (_, points) = svg.rsplit_once("points=\"").expect("a line");
    let (points, _) = points.split_once('"').expect("its end");
    let heights: Vec<f64> = points
        .split(' ')
        .map(|point| {
            point
                .split_once(',')
                .expect("x and y")
                .1
                .parse()
                .expect("a number")
        })
        .collect();
    assert_eq!(heights.len(), 10);
    // Equal steps of 5,000 points, a tenth of the axis each.
    let step = heights[0] - heights[1];
    assert!(step > 20.0);
    assert!(
        heights
            .windows(2)
            .all(|pair| (pair[0] - pair[1] - step).abs() < 0.2)
    );

    // Only what is inside of the axes is drawn.
    lab.run("plot scores.txt --every 50 --x 1000..2000 --out part.svg")
        .succeeds();
    assert_eq!(dots(&lab.text("part.svg")), 21);
    lab.run("plot scores.txt --every 50 --y 0..10000 --out low.svg")
        .succeeds();
    assert_eq!(dots(&lab.text("low.svg")), 20);
}

#[test]
fn scores_of_a_run_are_drawn_into_a_folder() {
    let lab = Lab::new();
    lab.train("run", 30, "--set scores=true");
    let done = lab.run("plot run/scores.txt --json").json();
    assert_eq!(done["title"], "run/scores.txt: 30 games");
    for name in ["plots/scores.png", "plots/scores.svg"] {
        assert!(lab.bytes(name).len() > 1000, "{name}");
    }
}

#[test]
fn what_is_no_list_of_scores_is_refused() {
    let lab = lab();
    lab.write("other.txt", "1000\tmean = 5\n");
    lab.refuses("plot other.txt", &["other.txt", "line 1", "episode : 14"]);
    lab.write("empty.txt", "");
    lab.refuses("plot empty.txt", &["empty.txt", "no scores"]);
    lab.refuses("plot scores.txt --out a.jpg", &["a.jpg", ".png"]);
    lab.refuses("plot scores.txt --x 9000..10000", &["inside"]);
    lab.write(
        "two.txt",
        "episode : 1, score : 10\nepisode : 5, score : 20\n",
    );
    lab.refuses("plot two.txt --every 2", &["a multiple of 2"]);
    lab.refuses("plot scores.txt --y 5..1", &["0..200000"]);
    lab.refuses(
        "plot missing.txt --every 5",
        &["missing.txt", "No such file"],
    );
    lab.train("run", 20, "");
    lab.refuses("plot run --every 5", &["--every", "scores.txt"]);
    lab.refuses("plot run --out one.png", &["one.png", "names a folder"]);
    assert!(!lab.path("one.png").exists());
    lab.refuses("plot run scores.txt", &["only the one or the other"]);
}
