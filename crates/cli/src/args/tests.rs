//! The arguments as clap sees them.

use clap::CommandFactory;

use super::*;

#[test]
fn the_definition_is_consistent() {
    Args::command().debug_assert();
}

fn parse(words: &str) -> Result<Args, clap::Error> {
    let words = std::iter::once("afterstate").chain(words.split_whitespace());
    Args::try_parse_from(words)
}

/// Every flag that DESIGN.md and the documents name, by its exact name.
#[test]
fn every_option_of_the_design_is_there() {
    let args = Args::command();
    for (command, options) in [
        (
            "train",
            "game board episodes threads seed out set resume from json",
        ),
        (
            "eval",
            "against fast keep records search hash cutoff downgrade games part threads seed format json \
             game board",
        ),
        (
            "compare",
            "game board search search-b plain-b hash cutoff downgrade sequential margin games part threads \
             seed format json",
        ),
        ("merge", "sweep out format json"),
        (
            "analyze",
            "model solution search hash cutoff downgrade batch json game rollouts rollout-search seed threads",
        ),
        (
            "review",
            "target search hash cutoff downgrade top thresholds threads json",
        ),
        (
            "play",
            "game board search hash cutoff downgrade seed watch spawns save open number no-color",
        ),
        (
            "convert",
            "to patterns stages game no-symmetry base weights-only force json",
        ),
        ("pack", "size games seed threads force json"),
        (
            "solve",
            "game board target discount min-avg-max out threads json",
        ),
        ("judge", "game board games model seal min-speed json"),
        (
            "referee",
            "games game board time jobs memory records tcp json",
        ),
        (
            "tournament",
            "games game board time jobs memory target with out json",
        ),
        ("plot", "out every mean x y json"),
        ("sweep", "out jobs part json"),
        ("runs", "json"),
        ("serve", "model port runs host name"),
        ("recipes", "json"),
        (
            "bench",
            "seconds warmup-games network search hash threads json",
        ),
        ("tuples", "board no-symmetry out theme json"),
        ("completions", ""),
    ] {
        let found = args.find_subcommand(command);
        let found = found.unwrap_or_else(|| panic!("no command {command}"));
        let mut longs: Vec<&str> = found
            .get_arguments()
            .filter_map(|arg| arg.get_long())
            .filter(|long| *long != "help")
            .collect();
        longs.sort_unstable();
        let mut expected: Vec<&str> = options.split_whitespace().collect();
        expected.sort_unstable();
        assert_eq!(longs, expected, "{command}");
    }
}

/// Flags of one name take the same values in every command that has them.
#[test]
fn one_flag_has_one_meaning() {
    let threads = [
        "train",
        "eval random",
        "compare a b",
        "solve --board 2x2",
        "bench",
    ];
    for command in threads {
        for (value, accepted) in [("0", true), ("1024", true), ("1025", false), ("-1", false)] {
            let words = format!("{command} --threads {value}");
            assert_eq!(parse(&words).is_ok(), accepted, "{words}");
        }
    }
    for command in ["eval random", "compare a b"] {
        for (value, accepted) in [("1e5", true), ("10_000", true), ("0", false)] {
            let words = format!("{command} --games {value}");
            assert_eq!(parse(&words).is_ok(), accepted, "{words}");
        }
    }
    for command in ["train --episodes", "train --seed", "eval random --seed"] {
        for value in ["1e5", "10_000", "7"] {
            assert!(parse(&format!("{command} {value}")).is_ok(), "{command}");
        }
        assert!(parse(&format!("{command} 1.5")).is_err(), "{command}");
    }
}

#[test]
fn global_flags_stand_anywhere() {
    for (words, expected) in [
        ("recipes", Verbosity::Normal),
        ("-q recipes", Verbosity::Quiet),
        ("recipes --quiet", Verbosity::Quiet),
        ("recipes --no-progress", Verbosity::NoProgress),
        ("--no-progress recipes -q", Verbosity::Quiet),
    ] {
        assert_eq!(parse(words).unwrap().verbosity(), expected, "{words}");
    }
}
