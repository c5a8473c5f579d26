//! Load: many clients that ask a server for 1-ply analyses at a fixed rate.
//!
//! ```text
//! cargo run --release -p afterstate-web --example load -- 127.0.0.1:2048 [CLIENTS] [PER_SECOND] [SECONDS]
//! ```
//!
//! Each client has a connection and a timetable. A time is counted from the moment at which the request
//! was due, so that a server that stalls is charged for all requests that it keeps waiting.
//! `benchmarks/load.sh` runs it while a training runs.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Boards of the middle of a game.
const BOARDS: [&str; 4] = [
    "1024,512,8,2/256,64,4,0/2,0,0,0/0,2,0,0",
    "2048,256,64,2/128,32,8,4/4,8,2,0/0,2,0,0",
    "4,16,512,1024/2,8,64,256/0,4,2,16/0,0,2,4",
    "4096,1024,128,8/64,32,16,4/2,8,4,0/0,0,2,0",
];

/// A client's connection.
struct Client {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(address: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            address: address.to_owned(),
            stream: BufReader::new(stream),
        })
    }

    /// Asks for the analysis of a board, and returns the status.
    fn ask(&mut self, board: &str) -> Result<u16, Box<dyn Error + Send + Sync>> {
        let body = format!("{{\"position\": \"{board}\"}}");
        let (address, length) = (&self.address, body.len());
        let call = format!(
            "POST /api/v1/analyze HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(call.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).ok_or("no status")?.parse()?;
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(status)
    }
}

/// What a client has seen: the time of each answer, and the number of other answers.
type Seen = (Vec<Duration>, usize);

fn client(
    address: &str,
    first: Instant,
    every: Duration,
    count: u32,
) -> Result<Seen, Box<dyn Error + Send + Sync>> {
    let mut client = Client::connect(address)?;
    let (mut times, mut refused) = (Vec::new(), 0);
    for number in 0..count {
        let due = first + every * number;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match client.ask(BOARDS[number as usize % BOARDS.len()])? {
            200 => times.push(due.elapsed()),
            _ => refused += 1,
        }
    }
    Ok((times, refused))
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("expected HOST:PORT of a server")?;
    let mut number = |usual: u32| arguments.next().map_or(Ok(usual), |text| text.parse());
    let (clients, rate, seconds) = (number(100)?, number(1000)?, number(30)?);
    // The model is opened by the first request.
    Client::connect(&address)?.ask(BOARDS[0])?;
    let every = Duration::from_secs(clients.into()) / rate;
    let begun = Instant::now() + Duration::from_millis(200);
    let work = |place: u32| {
        let address = address.clone();
        let first = begun + every * place / clients;
        std::thread::spawn(move || client(&address, first, every, seconds * rate / clients))
    };
    let threads: Vec<_> = (0..clients).map(work).collect();
    let (mut times, mut refused, mut failed) = (Vec::new(), 0, 0);
    for thread in threads {
        match thread.join().map_err(|_| "a client has panicked")? {
            Ok((seen, others)) => {
                times.extend(seen);
                refused += others;
            }
            Err(error) => {
                eprintln!("a client failed: {error}");
                failed += 1;
            }
        }
    }
    times.sort_unstable();
    let at = |share: f64| {
        let place = (times.len().saturating_sub(1) as f64 * share) as usize;
        times
            .get(place)
            .map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
    };
    println!(
        "{clients} clients, {rate} requests/s for {seconds} s: {} answers, {refused} refused, {failed} \
         clients failed\np50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, longest {:.2} ms",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    Ok(())
}
