#![no_main]

use afterstate_lab::recipe::Recipe;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(recipe) = Recipe::parse(text, "fuzz", &[]) {
        let again = Recipe::parse(&recipe.to_toml(), "fuzz", &[]);
        assert_eq!(again.as_ref().ok(), Some(&recipe));
    }
});
