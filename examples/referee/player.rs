// A player of 2048 for `afterstate referee`: goes round the directions, and skips illegal slides.
// Compile it with: rustc -O player.rs
use std::io::BufRead;

/// Whether a tile can move by this many rows and columns: to an empty cell, or onto an equal tile.
fn legal(board: &[u64], (rows, columns): (i32, i32), (down, right): (i32, i32)) -> bool {
    let tile = |row, column| board[(row * columns + column) as usize];
    let inside = |row, column| 0 <= row && row < rows && 0 <= column && column < columns;
    let mut cells = (0..rows * columns).map(|cell| (cell / columns, cell % columns));
    cells.any(|(row, column)| {
        let (to_row, to_column) = (row + down, column + right);
        let (from, free) = (tile(row, column), inside(to_row, to_column));
        from != 0 && free && [0, from].contains(&tile(to_row, to_column))
    })
}

fn main() {
    let slides = [
        ("up", (-1, 0)),
        ("right", (0, 1)),
        ("down", (1, 0)),
        ("left", (0, -1)),
    ];
    let (mut shape, mut turn, input) = ((4, 4), 0, std::io::stdin());
    for line in input.lock().lines() {
        let line = line.expect("a line of text");
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "referee" {
            // referee VERSION GAME ROWSxCOLUMNS
            if words[2] != "2048" {
                eprintln!("this player plays only 2048");
                std::process::exit(1);
            }
            let sides: Vec<i32> = words[3].split('x').flat_map(|side| side.parse()).collect();
            shape = (sides[0], sides[1]);
            println!("ready 1");
        } else if words[0] == "board" {
            // The tiles by rows, 0 for an empty cell.
            let board: Vec<u64> = words[1..].iter().flat_map(|tile| tile.parse()).collect();
            turn += 1;
            let mut next = slides.iter().cycle().skip(turn % 4).take(4);
            let (name, _) = next
                .find(|(_, step)| legal(&board, shape, *step))
                .expect("a slide");
            println!("{}", name);
        }
    }
}
