//! Hostile recipes: whatever the text, the answer is a recipe or a short error, never a panic.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::tests::{MINIMAL, refusal, set};
use super::*;
use crate::migrate::Format;

#[test]
fn hostile_text_is_refused_in_one_short_line() {
    let deep = 200_000;
    for text in [
        "#".repeat(MAX_BYTES + 1),
        "x=".to_string() + &"[".repeat(deep),
        "x=".to_string() + &"[".repeat(deep) + &"]".repeat(deep),
        "x=".to_string() + &"{a=".repeat(deep),
        "a.".repeat(deep) + "a=1",
        "[".to_string() + &"a.".repeat(deep) + "a]",
        format!("{MINIMAL}lambda=") + &"[".repeat(60) + &"]".repeat(60),
        format!("{MINIMAL}[learner]\nlearning_rate=") + &"[".repeat(60) + &"]".repeat(60),
        "k".repeat(900_000) + "=1",
        format!("name = '{}'", "n".repeat(900_000)),
        format!("episodes = '{}'\n{MINIMAL}", "n".repeat(900_000)),
        "\"a\\u001b[2J\\n\" = 1".into(),
    ] {
        let message = refusal(&text);
        let start: String = text.chars().take(40).collect();
        assert!(!message.starts_with("accepted"), "{start}");
        assert!(message.len() < 700, "{start}: {message}");
        assert!(!message.contains(char::is_control), "{start}: {message}");
    }
}

/// Pieces that recipes are made of, so that random texts come near to valid ones.
fn piece() -> impl Strategy<Value = String> {
    let words = "name episodes [network] [[learner]] learner kind learning_rate tuples = . , # \" ' \"\"\" \
                 [ ] { } \
                 0.1 -1 nan inf 1e999 9223372036854775808 0x true 1979-05-27 \\u \u{0} é";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend([
        "\n",
        " ",
        "from = 0",
        "learning_rate = 1",
        "'dqn'",
        "'td'",
        "[replay]",
    ]);
    prop_oneof![4 => select(words).prop_map(String::from), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), change in any::<String>()) {
        let _ = Recipe::parse(&text, &text, std::slice::from_ref(&change));
        let _ = Recipe::parse_stored(&text, &text, std::slice::from_ref(&change));
        let _ = set(&[&change]);
        let _ = Recipe::load(&text.replace(['/', '.'], ""), &[]);
        let _ = parse_board(&text);
    }

    #[test]
    fn near_recipes_never_panic(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let _ = Recipe::parse(&text, "my.toml", &[]);
        let _ = Recipe::parse(&format!("{MINIMAL}{text}"), "my.toml", &[]);
    }

    #[test]
    fn recipes_of_format_1_never_panic(pieces in prop::collection::vec(piece(), 0..40)) {
        let old = format!("block = 7\n{MINIMAL}");
        let _ = Recipe::parse_stored(&format!("{old}{}", pieces.concat()), "my.toml", &[]);
    }

    #[test]
    fn mutated_recipes_never_panic(
        which in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), 0usize..8, piece()), 1..6),
    ) {
        let mut text: Vec<char> = which.get(Recipe::builtin()).1.chars().collect();
        for (place, length, new) in edits {
            let start = place.index(text.len() + 1);
            let end = text.len().min(start + length);
            text.splice(start..end, new.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(recipe) = Recipe::parse(&text, "my.toml", &[]) {
            // Whatever is accepted can be written to the run folder and run again.
            let again = Recipe::parse(&recipe.to_toml(), "again", &[]).map_err(|e| e.to_string());
            prop_assert_eq!(again, Ok(recipe.clone()));
            let stored = Recipe::parse_stored(&recipe.to_toml(), "again", &[]);
            let stored = stored.map_err(|e| e.to_string());
            prop_assert_eq!(stored, Ok(Migrated { content: recipe, format: Format::NOW }));
        }
    }

    #[test]
    fn overrides_with_any_value_never_panic(
        key in select(vec![
            "episodes", "learner.learning_rate", "rule", "network", "seed", "board", "x.y",
            "learner.kind", "network.kind", "update", "target_update", "rate", "changed",
        ]),
        pieces in prop::collection::vec(piece(), 0..8),
    ) {
        let _ = set(&[&format!("{key}={}", pieces.concat())]);
    }

    #[test]
    fn any_recipe_can_be_written(
        (name, game) in any::<(String, String)>(),
        (episodes, seed, block_games, threads) in any::<(u64, u64, u64, usize)>(),
        (checkpoint_seconds, discount) in any::<(f64, f64)>(),
    ) {
        let learner = LearnerRecipe::Td(TdRecipe { discount, ..TdRecipe::default() });
        let recipe = Recipe {
            name, game, episodes, seed, block_games, threads, checkpoint_seconds, learner,
            ..Recipe::default()
        };
        prop_assert!(!recipe.to_toml().is_empty());
    }
}
