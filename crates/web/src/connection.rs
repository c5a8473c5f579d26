//! Connections whose clients must take what is sent to them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection on which a write that waits longer than a time is an error: a client that reads nothing
/// loses it, and what was to be sent is dropped.
pub struct Connection<S> {
    stream: S,
    longest: Duration,
    /// Ends the time of the write that waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Connection<S> {
    /// Writes to `stream` wait at most this long.
    pub fn new(stream: S, longest: Duration) -> Self {
        Self {
            stream,
            longest,
            waiting: None,
        }
    }

    /// The result of a write, or an error if it has waited too long.
    fn in_time<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let longest = self.longest;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(longest)));
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
        self.in_time(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.in_time(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

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
        let mut server = Connection::new(server, Duration::from_millis(100));
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
        let mut server = Connection::new(server.stream, Duration::from_secs(20));
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
}
