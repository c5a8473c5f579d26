//! The update rule over the games of a run: one rule, or phases, each with its rule. Together with
//! the steps of the learning rate they make a recipe such as OTD and then TC (Guei, Chen and Wu
//! 2021): optimistic TD for nine tenths of the games, then TC with fresh sums.

use serde::de::{Error, SeqAccess, Visitor, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::learner::Rule;

/// The most phases of a run.
const MOST: usize = 100;

/// A rule that holds from a game on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The first game, counted from 0.
    pub from: u64,
    /// Its rule.
    pub rule: Rule,
}

/// The update rule over the games of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Never empty; the first begins at 0, the others later than the one before.
    phases: Vec<Phase>,
}

impl Phases {
    /// One rule for all games.
    pub fn of(rule: Rule) -> Self {
        Self {
            phases: vec![Phase { from: 0, rule }],
        }
    }

    /// All phases, in order.
    pub fn all(&self) -> &[Phase] {
        &self.phases
    }

    /// The phase of a game.
    pub fn at(&self, game: u64) -> Phase {
        let begun = self.phases.iter().take_while(|phase| phase.from <= game);
        *begun.last().unwrap_or(&self.phases[0])
    }

    /// The first game of the phase after that of a game; `u64::MAX` in the last.
    pub fn end_of(&self, game: u64) -> u64 {
        let later = self.phases.iter().find(|phase| phase.from > game);
        later.map_or(u64::MAX, |phase| phase.from)
    }

    /// Whether any phase has a rule.
    pub fn has(&self, rule: Rule) -> bool {
        self.phases.iter().any(|phase| phase.rule == rule)
    }

    fn new(phases: Vec<Phase>) -> Result<Self, String> {
        let Some(first) = phases.first() else {
            return Err("the list of phases is empty: expected at least one, from game 0".into());
        };
        if first.from != 0 {
            return Err(format!(
                "the first phase begins at game {}: expected 0, or the games before have no rule",
                first.from
            ));
        }
        if phases.len() > MOST {
            let found = phases.len();
            return Err(format!(
                "the list has {found} phases: expected at most {MOST}"
            ));
        }
        for (number, two) in phases.windows(2).enumerate() {
            if two[1].from <= two[0].from {
                return Err(format!(
                    "phase {} begins at game {}: expected more than {}, where the one before begins",
                    number + 2,
                    two[1].from,
                    two[0].from
                ));
            }
            // A further phase of TC begins with fresh sums.
            if two.iter().all(|phase| phase.rule == Rule::Td) {
                return Err(format!(
                    "phase {} has TD as the one before, so that nothing changes there",
                    number + 2
                ));
            }
        }
        Ok(Self { phases })
    }
}

impl Serialize for Phases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.phases[..] {
            [Phase { rule, .. }] => rule.serialize(serializer),
            _ => self.phases.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Phases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = Phases;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a rule, or phases such as [{ from = 0, rule = \"td\" }, ...]")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Phases, E> {
                let word = serde::de::value::StrDeserializer::new(word);
                Rule::deserialize(word).map(Phases::of)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Phases, A::Error> {
                let phases = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                Phases::new(phases).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Phases, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_phase_ends_where_the_next_begins() {
        let phases = read(r#"[{"from": 0, "rule": "td"}, {"from": 90, "rule": "tc"}]"#).unwrap();
        let rules = [0, 89, 90, 1000].map(|game| phases.at(game).rule);
        assert_eq!(rules, [Rule::Td, Rule::Td, Rule::Tc, Rule::Tc]);
        assert_eq!(
            [0, 89, 90].map(|game| phases.end_of(game)),
            [90, 90, u64::MAX]
        );
        assert!(phases.has(Rule::Tc) && !Phases::of(Rule::Td).has(Rule::Tc));
        let written = serde_json::to_string(&phases).unwrap();
        assert_eq!(read(&written).unwrap(), phases);
        assert_eq!(
            serde_json::to_string(&Phases::of(Rule::Tc)).unwrap(),
            r#""tc""#
        );
    }

    #[test]
    fn lists_that_are_no_phases_are_refused() {
        for (json, part) in [
            ("[]", "empty"),
            (r#"[{"from": 5, "rule": "td"}]"#, "begins at game 5"),
            (
                r#"[{"from": 0, "rule": "td"}, {"from": 0, "rule": "tc"}]"#,
                "expected more than 0",
            ),
            (
                r#"[{"from": 0, "rule": "td"}, {"from": 9, "rule": "td"}]"#,
                "nothing changes",
            ),
            (r#"[{"from": 0, "rule": "dt"}]"#, "unknown variant"),
            (r#""dt""#, "expected `td` or `tc`"),
            ("7", "invalid type"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
