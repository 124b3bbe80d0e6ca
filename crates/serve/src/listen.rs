//! Accept loop of the control tool's HTTP server: limits of connections, header size, header time and request time.

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

/// Upper limit of concurrent connections; a further connection is closed at once.
pub(crate) const CONNECTIONS: usize = 128;
/// Time within which a request header must arrive; also the time after which an idle connection is closed.
const HEAD: Duration = Duration::from_secs(10);
/// Time within which a request must be read and answered; an event stream counts as answered when it begins.
const REQUEST: Duration = Duration::from_secs(120);
/// Largest request header, bytes.
const HEAD_BYTES: usize = 32 << 10;

/// Serves connections until `stop` resolves.
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
                // Without a slot the connection is dropped, which closes it, so that no queue of connections forms.
                let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
                let routes = routes.clone();
                tokio::spawn(async move {
                    connection(stream, routes).await;
                    drop(slot);
                });
            }
            // An error such as a lack of file descriptors can end when other connections end.
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
