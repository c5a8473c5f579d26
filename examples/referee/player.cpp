// A player of 2048 for `afterstate referee`: the first legal slide of down, left, right and up.
// Compile it with: c++ -O2 -std=c++17 -o player player.cpp
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

// Whether a tile can move by `step` cells: into an empty cell, or onto an equal tile.
bool legal(const std::vector<int>& board, int rows, int columns, int down, int right) {
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            int to_row = row + down, to_column = column + right;
            if (to_row < 0 || to_row >= rows || to_column < 0 || to_column >= columns) continue;
            int tile = board[row * columns + column], next = board[to_row * columns + to_column];
            if (tile != 0 && (next == 0 || next == tile)) return true;
        }
    return false;
}

int main() {
    int rows = 4, columns = 4;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string word, version, game;
        char x;
        words >> word;
        if (word == "referee") {  // referee VERSION GAME ROWSxCOLUMNS
            words >> version >> game >> rows >> x >> columns;
            if (game != "2048") return std::cerr << "this player plays only 2048\n", 1;
            std::cout << "ready 1" << std::endl;
        } else if (word == "board") {  // the tiles by rows, 0 for an empty cell
            std::vector<int> board(rows * columns);
            for (int& tile : board) words >> tile;
            const char* slide = legal(board, rows, columns, 1, 0)    ? "down"
                                : legal(board, rows, columns, 0, -1) ? "left"
                                : legal(board, rows, columns, 0, 1)  ? "right"
                                                                     : "up";
            std::cout << slide << std::endl;
        }
    }
}
