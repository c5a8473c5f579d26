//! Directions by their names, in JSON.

use afterstate::game::Direction;
use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(direction: &Direction, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(direction.name())
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Direction, D::Error> {
    let name = String::deserialize(from)?;
    named(&name).ok_or_else(|| serde::de::Error::custom(format!("no direction `{name}`")))
}

fn named(name: &str) -> Option<Direction> {
    Direction::ALL.into_iter().find(|it| it.name() == name)
}

/// Directions that may be missing.
pub mod option {
    use afterstate::game::Direction;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::named;

    pub fn serialize<S: Serializer>(
        direction: &Option<Direction>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        direction.map(Direction::name).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Direction>, D::Error> {
        let Some(name) = Option::<String>::deserialize(from)? else {
            return Ok(None);
        };
        let error = || serde::de::Error::custom(format!("no direction `{name}`"));
        named(&name).map(Some).ok_or_else(error)
    }
}
