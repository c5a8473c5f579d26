//! One cell of a board as text.

use crate::error::BoardFault;

/// The tile index of a cell, which is in this row and column, from 1.
pub(super) fn tile(
    text: &str,
    (row, cell): (usize, usize),
    tile_values: &[u64],
) -> Result<u8, BoardFault> {
    let text = text.trim().trim_matches(['"', '\'']).trim();
    let found = || text.chars().take(20).collect::<String>();
    let not_a_tile = || BoardFault::NotTile {
        row,
        cell,
        found: found(),
    };
    if text.is_empty() {
        return Err(BoardFault::Nothing { row, cell });
    }
    if is_empty_cell(text) {
        return Ok(0);
    }
    let values = match text.strip_suffix(['k', 'K']) {
        Some(thousands) => {
            let all = tile_values.iter().copied();
            let thousands = Thousands::parse(thousands).ok_or_else(not_a_tile)?;
            all.filter(|&value| thousands.stand_for(value)).collect()
        }
        None => vec![whole(text).ok_or_else(not_a_tile)?],
    };
    match values[..] {
        [0] => Ok(0),
        [value] if tile_values.contains(&value) => {
            let below = tile_values.iter().take_while(|&&it| it != value).count();
            u8::try_from(below + 1).map_err(|_| not_a_tile())
        }
        [] | [_] => Err(BoardFault::UnknownTile {
            row,
            cell,
            found: found(),
            known: tile_values.to_vec(),
        }),
        _ => Err(BoardFault::Thousands {
            row,
            cell,
            found: found(),
            tiles: values,
        }),
    }
}

fn is_empty_cell(text: &str) -> bool {
    let words = ["null", "none", "nil"];
    [".", "_", "-", "·"].contains(&text) || words.iter().any(|it| text.eq_ignore_ascii_case(it))
}

/// A whole number, which numpy may print as `2.` or `2.0`.
fn whole(text: &str) -> Option<u64> {
    let digits = match text.split_once('.') {
        Some((digits, rest)) if rest.bytes().all(|byte| byte == b'0') => digits,
        Some(_) => return None,
        None => text,
    };
    // `parse` would accept a sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// A number of thousands with one decimal at most.
struct Thousands {
    tenths: u64,
    has_decimal: bool,
}

impl Thousands {
    fn parse(text: &str) -> Option<Self> {
        let (whole_part, decimal) = match text.split_once('.') {
            Some((whole, decimal)) if decimal.len() == 1 => (whole, Some(decimal)),
            Some(_) => return None,
            None => (text, None),
        };
        let decimal_digit = decimal.map_or(Some(0), whole)?;
        let tenths = whole(whole_part)?.checked_mul(10)?;
        Some(Self {
            tenths: tenths.checked_add(decimal_digit)?,
            has_decimal: decimal.is_some(),
        })
    }

    /// Whether a tile of at least 1000 is written so: in units of 1024, or in thousands, rounded or
    /// cut off.
    fn stand_for(&self, value: u64) -> bool {
        let unit = if self.has_decimal { 100 } else { 1000 };
        let number = if self.has_decimal {
            self.tenths
        } else {
            self.tenths / 10
        };
        let binary = self.tenths.checked_mul(1024) == value.checked_mul(10);
        let decimal = value / unit == number || value.saturating_add(unit / 2) / unit == number;
        value >= 1000 && (binary || decimal)
    }
}
