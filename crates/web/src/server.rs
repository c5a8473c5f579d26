//! Accepting connections, the lock of the run folder, and shutdown.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::connection::Connection;
use crate::error::ServeError;
use crate::{AppState, Config, router};

/// The most connections at a time; further ones wait.
const CONNECTIONS: usize = 512;
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(6);
/// The bytes that a client takes of a long answer, at least, and the time in which it does.
const PACE: (usize, Duration) = (1 << 20, Duration::from_secs(60));
/// How long shutdown waits for requests in progress.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The file that the server of a folder locks.
const LOCK: &str = ".serve.lock";

/// A server that runs until it is stopped.
pub struct Running {
    /// Its address.
    pub address: SocketAddr,
    /// The link to its page, with the token if it needs one. If the server listens on all addresses,
    /// the link has the loopback address, which other machines replace by one of this machine.
    pub url: String,
    app: AppState,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    /// Ends all streams, lets requests finish, and returns when all runs have saved their state.
    pub fn stop(mut self) {
        self.app.end();
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by its message.
            let _ = thread.join();
        }
        crate::api::runs::wait_for_all(&self.app);
    }
}

/// Starts a server on threads of its own.
///
/// # Errors
/// When the address or the folder cannot be used.
pub fn start(config: &Config) -> Result<Running, ServeError> {
    let folder = |source| ServeError::Folder {
        folder: config.runs.clone(),
        source,
    };
    // A folder that is served is reported with its address; only a server that runs creates one.
    let is_there = config.runs.is_dir();
    let held = is_there.then(|| lock(&config.runs)).transpose()?;
    let app = AppState::new(config)?;
    let asked = SocketAddr::new(config.host, config.port);
    let refused = |source| ServeError::Address {
        address: asked,
        source,
    };
    let listener = std::net::TcpListener::bind(asked).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let mut lock = match held {
        Some(lock) => lock,
        None => {
            std::fs::create_dir_all(&config.runs).map_err(folder)?;
            lock(&config.runs)?
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(folder)?;
    let listener = {
        let _entered = runtime.enter();
        TcpListener::from_std(listener).map_err(refused)?
    };
    let address = listener.local_addr().map_err(refused)?;
    let mut url = format!("http://{}/", reachable(address));
    // Another server of this folder can name the address, without the token.
    let _ = lock.set_len(0).and_then(|()| lock.rewind());
    let _ = lock.write_all(url.as_bytes());
    if let Some(token) = app.token() {
        url += &format!("?token={token}");
    }
    let (stop, stopped) = watch::channel(false);
    let served = app.clone();
    let thread = std::thread::spawn(move || {
        runtime.block_on(accept(listener, &served, stopped));
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        drop(lock);
    });
    Ok(Running {
        address,
        url,
        app,
        stop,
        thread: Some(thread),
    })
}

/// The address for a browser of this machine: loopback, where the server listens on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Locks the folder for this process.
fn lock(folder: &Path) -> Result<File, ServeError> {
    let error = |source| ServeError::Folder {
        folder: folder.to_owned(),
        source,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(folder.join(LOCK)).map_err(error)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(source)) => Err(error(source)),
        Err(TryLockError::WouldBlock) => {
            let mut address = String::new();
            let read = (&file).take(200).read_to_string(&mut address);
            let is_address = read.is_ok() && address.starts_with("http://");
            Err(ServeError::Served {
                folder: folder.to_owned(),
                address: is_address.then_some(address),
            })
        }
    }
}

/// Serves connections until `stopped`.
async fn accept(listener: TcpListener, app: &AppState, mut stopped: watch::Receiver<bool>) {
    let router = router(app);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let Ok(place) = place else {
            break;
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    // Out of file descriptors, or a connection that has gone: go on in a moment.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        // Answers are small, and each is written at once.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(Connection::new(stream, PACE)), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks affects no other.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
}
