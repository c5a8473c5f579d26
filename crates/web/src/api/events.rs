//! The stream of events of a page.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::Problem;
use crate::state::AppState;

/// The most streams at a time, so that pages which are left open keep places for requests.
pub const STREAMS: usize = 64;

/// All that happens to runs, as server-sent events: `progress`, `block`, `checkpoint`, `finished`,
/// `failed`, each with the name of its run. A page needs one stream.
#[utoipa::path(get, path = "/api/v1/events", tag = "train",
    responses((status = 200, content_type = "text/event-stream", body = String,
        description = "Server-sent events"), (status = 403, body = Problem), (status = 429, body = Problem)))]
pub async fn events(
    State(app): State<AppState>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let place = Arc::clone(&app.streams).try_acquire_owned();
    let place = place.map_err(|_| {
        Problem::busy(format!(
            "{STREAMS} streams of events are open; close other pages"
        ))
    })?;
    let (mut incoming, mut ending) = app.listen();
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    tokio::spawn(async move {
        let _place = place;
        let hello = Event::default().event("hello").data("{}");
        let mut next = Some(hello);
        loop {
            if let Some(event) = next.take()
                && sender.send(Ok(event)).await.is_err()
            {
                return;
            }
            tokio::select! {
                found = incoming.recv() => match found {
                    Ok(event) => {
                        next = Some(Event::default().event(event.name).data(event.data));
                    }
                    // A slow page misses events, and reads the blocks anew.
                    Err(RecvError::Lagged(_)) => next = Some(Event::default().event("missed").data("{}")),
                    Err(RecvError::Closed) => return,
                },
                _ = ending.wait_for(|ending| *ending) => return,
                () = sender.closed() => return,
            }
        }
    });
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(ReceiverStream::new(receiver)).keep_alive(keep_alive))
}
