//! Accept loop: bounded connections, bounded header and request times.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower_service::Service as _;

/// Connections at a time; one more is closed at once.
pub(crate) const CONNECTIONS: usize = 128;
/// A request's head has to be whole within this time; an idle connection is closed after it.
const HEAD: Duration = Duration::from_secs(10);
/// A request has to be read and answered within this time; an event stream is an answer as soon as it begins.
const REQUEST: Duration = Duration::from_secs(120);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;

/// Answers until `stop` resolves.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return,
        };
        match accepted {
            Ok((stream, _)) => {
                // Without a slot the connection is dropped, which closes it: a queue of strangers must not wait here.
                let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
                let routes = routes.clone();
                tokio::spawn(async move {
                    connection(stream, routes).await;
                    drop(slot);
                });
            }
            // Out of file descriptors, for instance: others may end meanwhile.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(stream: TcpStream, routes: Router) {
    let _ = stream.set_nodelay(true);
    let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut routes = routes.clone();
        async move {
            let answered = tokio::time::timeout(REQUEST, routes.call(request.map(Body::new))).await;
            let response: Response = match answered {
                Ok(Ok(response)) => response,
                Ok(Err(never)) => match never {},
                Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
            };
            Ok::<Response, std::convert::Infallible>(response)
        }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
