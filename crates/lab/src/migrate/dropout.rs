//! Recipes that had one rate of dropout and its place, in format 1 and at first in format 2.

use toml::{Table, Value};

/// Gives a stored recipe with one rate of dropout, of either format, the keys of today: a rate for
/// each place.
///
/// In these recipes `illegal = "number"` with three outputs was the cycle of the outputs, which is
/// called `"output"` now.
pub(crate) fn split_dropout(recipe: &mut Table) {
    let Some((key, rate)) = one_dropout(recipe) else {
        return;
    };
    let outputs = recipe.get("network").and_then(|it| it.get("outputs"));
    let three = outputs.and_then(Value::as_integer) == Some(3);
    for section in ["learner", "deep"] {
        let inner = recipe.get_mut(section).and_then(Value::as_table_mut);
        let illegal = inner.and_then(|inner| inner.get_mut("illegal"));
        if let Some(word) = illegal.filter(|word| three && word.as_str() == Some(NUMBER)) {
            *word = Value::String(OUTPUT.into());
        }
    }
    let changed = recipe.get_mut("changed").and_then(Value::as_array_mut);
    if let Some(changed) = changed {
        changed.retain(|change| !text_starts(change, "network.dropout_place="));
        for change in changed {
            let new = match change.as_str() {
                Some("learner.illegal=number") if three => "learner.illegal=output".to_owned(),
                Some(text) => text.replacen("network.dropout=", &format!("network.{key}="), 1),
                None => continue,
            };
            *change = Value::String(new);
        }
    }
    if let Some(Value::Table(network)) = recipe.get_mut("network") {
        network.insert(key.into(), rate);
    }
}

/// Words of `learner.illegal`, before and now.
const NUMBER: &str = "number";
const OUTPUT: &str = "output";

fn text_starts(value: &Value, start: &str) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(start))
}

/// Removes a rate of dropout and its place, and returns the key of today for the rate.
fn one_dropout(recipe: &mut Table) -> Option<(&'static str, Value)> {
    ["network", "deep"].into_iter().find_map(|section| {
        let inner = recipe.get_mut(section)?.as_table_mut()?;
        let rate = inner.remove("dropout")?;
        let place = inner.remove("dropout_place");
        let key = match place.as_ref().and_then(Value::as_str) {
            Some("convolutions") => "dropout_convolutions",
            _ => "dropout_hidden",
        };
        Some((key, rate))
    })
}

/// The word of today for `illegal` in the metadata of a model with this recipe and these outputs:
/// see [`split_dropout`].
pub(crate) fn illegal<'a>(word: &'a str, outputs: &str, recipe: &str) -> &'a str {
    let is_old = || {
        let table = recipe.parse::<Table>();
        table.is_ok_and(|mut table| one_dropout(&mut table).is_some())
    };
    match (word, outputs) {
        (NUMBER, "3") if is_old() => OUTPUT,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rate_of_dropout_becomes_that_of_its_place() {
        let old = |place: &str| -> Table {
            let text = format!(
                "changed = ['network.dropout=0.5', 'network.dropout_place={place}', 'seed=3', \
                 'learner.illegal=number']\n[network]\noutputs = 3\ndropout = 0.5\n\
                 dropout_place = '{place}'\n[learner]\nillegal = 'number'"
            );
            text.parse().unwrap()
        };
        for place in ["hidden", "convolutions"] {
            let mut recipe = old(place);
            split_dropout(&mut recipe);
            let new = format!(
                "changed = ['network.dropout_{place}=0.5', 'seed=3', 'learner.illegal=output']\n\
                 [network]\noutputs = 3\ndropout_{place} = 0.5\n[learner]\nillegal = 'output'"
            );
            assert_eq!(recipe, new.parse().unwrap());
            // What has the keys of today stays as it is.
            split_dropout(&mut recipe);
            assert_eq!(recipe, new.parse().unwrap());
            assert_eq!(illegal("number", "3", &new), "number");
        }
        let before = old("hidden").to_string();
        assert_eq!(illegal("number", "3", &before), "output");
        assert_eq!(illegal("number", "4", &before), "number");
        assert_eq!(illegal("value", "3", &before), "value");
        assert_eq!(illegal("number", "3", "?"), "number");
    }
}
