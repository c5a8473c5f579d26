//! Connections whose clients must take what is sent to them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection on which a write that waits must take bytes at a pace: a client that reads nothing, or a
/// byte now and then, loses it, and what was to be sent is dropped.
pub struct Connection<S> {
    stream: S,
    /// Bytes, and the time in which they are to be taken.
    pace: (usize, Duration),
    /// Ends the present time, which begins when a write first waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// The bytes that were taken in it.
    taken: usize,
}

impl<S> Connection<S> {
    /// Of writes to `stream` that wait, so many bytes are taken in each such time.
    pub fn new(stream: S, pace: (usize, Duration)) -> Self {
        Self {
            stream,
            pace,
            waiting: None,
            taken: 0,
        }
    }

    /// The result of a write of `offered` bytes, or an error if the client is too slow.
    fn in_time(
        &mut self,
        written: Poll<io::Result<usize>>,
        offered: usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let (pace, time) = self.pace;
        if let Poll::Ready(result) = written {
            let taken = result.as_ref().map_or(0, |&taken| taken);
            self.taken += taken;
            if taken == offered || self.taken >= pace {
                self.waiting = None;
            }
            return Poll::Ready(result);
        }
        if self.waiting.is_none() {
            self.taken = 0;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(time)));
        let late = || Err(io::Error::from(io::ErrorKind::TimedOut));
        waiting.as_mut().poll(context).map(|()| late())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(written, bytes.len(), context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        let offered = pieces.iter().map(|piece| piece.len()).sum();
        self.in_time(written, offered, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn write(to: &mut Connection<TcpStream>, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|context| Pin::new(&mut *to).poll_write(context, bytes)).await
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let client = client.await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let mut server = Connection::new(server, (1, Duration::from_millis(100)));
        let bytes = vec![b'x'; 1 << 20];
        let fill = async |server: &mut Connection<TcpStream>| loop {
            // Until the buffers of the system are full.
            if let Err(error) = write(server, &bytes).await {
                return error;
            }
        };
        let error = fill(&mut server).await;
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // A client that reads is served, however full the buffers were.
        let mut piece = vec![0; 8 << 20];
        let mut server = Connection::new(server.stream, (1, Duration::from_secs(20)));
        let reading = async {
            loop {
                client.readable().await.unwrap();
                let _ = client.try_read(&mut piece);
            }
        };
        tokio::select! {
            written = write(&mut server, &bytes) => assert!(written.unwrap() > 0),
            () = reading => {}
        }
    }
    #[tokio::test]
    async fn a_client_that_takes_a_byte_now_and_then_loses_its_connection() {
        let (server, mut client) = tokio::io::duplex(16);
        let mut server = Connection::new(server, (1024, Duration::from_millis(200)));
        let writing = async {
            let bytes = [b'x'; 4096];
            loop {
                let written = poll_fn(|context| Pin::new(&mut server).poll_write(context, &bytes));
                if let Err(error) = written.await {
                    return error;
                }
            }
        };
        let reading = async {
            for _ in 0..1000 {
                client.read_u8().await.unwrap();
                sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            error = writing => assert_eq!(error.kind(), io::ErrorKind::TimedOut),
            () = reading => panic!("the client may be as slow as it likes"),
        }
    }

    #[tokio::test]
    async fn a_client_that_keeps_the_pace_is_served() {
        let (server, mut client) = tokio::io::duplex(16);
        let mut server = Connection::new(server, (64, Duration::from_millis(500)));
        let writing = async {
            for _ in 0..8 {
                let bytes = [b'x'; 128];
                let mut written = 0;
                while written < bytes.len() {
                    let rest = &bytes[written..];
                    let taken = poll_fn(|context| Pin::new(&mut server).poll_write(context, rest));
                    written += taken.await.unwrap();
                }
            }
        };
        let reading = async {
            let mut piece = [0; 16];
            loop {
                client.read_exact(&mut piece).await.unwrap();
                sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = writing => {}
            () = reading => {}
        }
    }
}
