//! The arguments as clap sees them.

use std::collections::BTreeMap;

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
            "model solution search hash cutoff downgrade batch json game rollouts tile rollout-search seed threads",
        ),
        (
            "review",
            "by-chance search hash cutoff downgrade top thresholds threads json",
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

/// What flags are tried with.
const WORDS: [&str; 24] = [
    "0", "1", "2", "7", "15", "16", "100", "1e3", "1_000", "1000", "1024", "1025", "65536", "2e6",
    "0.5", "1.5", "-1", "", "x", "0x", "3ply", "100ms", "1/2", "4x4",
];

/// A flag that takes a value, with nothing else around it.
fn alone(flag: &clap::Arg) -> clap::Command {
    let alone = clap::Arg::new("flag").long("flag").num_args(1);
    let alone = alone.allow_negative_numbers(flag.is_allow_negative_numbers_set());
    clap::Command::new("alone").arg(alone.value_parser(flag.get_value_parser().clone()))
}

fn refusal(flag: &clap::Arg, word: &str) -> Option<String> {
    let found = alone(flag).try_get_matches_from(["alone", "--flag", word]);
    found.err().map(|error| error.to_string())
}

/// Every flag that takes a value, with its command.
fn flags_with_values() -> Vec<(String, clap::Arg)> {
    let args = Args::command();
    let flags = |command: &clap::Command| {
        let flags = command.get_arguments();
        let with_value = flags.filter(|flag| flag.get_action().takes_values());
        let named = with_value.filter(|flag| flag.get_long().is_some());
        let name = command.get_name().to_owned();
        named
            .map(|flag| (name.clone(), flag.clone()))
            .collect::<Vec<_>>()
    };
    args.get_subcommands().flat_map(flags).collect()
}

/// Flags of one name take the same values in every command that has them.
#[test]
fn one_flag_has_one_meaning() {
    let mut known: BTreeMap<String, (String, Vec<bool>)> = BTreeMap::new();
    for (command, flag) in flags_with_values() {
        let name = flag.get_long().unwrap().to_owned();
        // A match keeps each game in its seal, so it has fewer games; --model of serve is a list.
        if name == "games" && ["referee", "tournament"].contains(&&*command) {
            continue;
        }
        let taken: Vec<bool> = WORDS.map(|word| refusal(&flag, word).is_none()).into();
        match known.get(&name) {
            Some((first, values)) => assert_eq!(values, &taken, "--{name} of {first}, {command}"),
            None => drop(known.insert(name, (command, taken))),
        }
    }
    assert!(known.len() > 40, "{}", known.len());
}

/// Numbers are written in the same ways for all flags, and refused in our words.
#[test]
fn every_number_is_read_alike() {
    let mut whole = 0;
    for (command, flag) in flags_with_values() {
        let taken = |word| refusal(&flag, word).is_none();
        if taken("x")
            || !WORDS
                .iter()
                .any(|word| word.parse::<f64>().is_ok() && taken(word))
        {
            continue;
        }
        let name = format!("{command} --{}", flag.get_long().unwrap());
        for word in WORDS {
            let refused = refusal(&flag, word).unwrap_or_default();
            for foreign in [
                "invalid digit",
                "float literal",
                "empty string",
                "is not in",
                "unexpected",
            ] {
                assert!(!refused.contains(foreign), "{name} {word}: {refused}");
            }
        }
        assert!(!taken("-1"), "{name}");
        if !taken("0.5") && taken("1000") {
            assert!(taken("1e3") && taken("1_000"), "{name}");
            whole += 1;
        }
    }
    assert!(whole > 25, "{whole}");
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
