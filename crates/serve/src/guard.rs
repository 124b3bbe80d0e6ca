//! Request admission of the control tool: check of Host, Origin and bearer token, and security headers of responses.
//!
//! A page of another origin can make a browser send requests to loopback, and a foreign name can resolve to 127.0.0.1
//! (DNS rebinding). Therefore `Host` must be this server's, `Origin` must be absent or this server's, and every API
//! request must carry the token in `Authorization`, which no browser adds by itself. The page and its program contain
//! no secret and are served without the token.

use crate::error::Problem;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Check of requests against the token and the host names of the server.
#[derive(Clone, Debug)]
pub(crate) struct Guard(Arc<Known>);

#[derive(Debug)]
struct Known {
    token: String,
    hosts: [String; 3],
}

/// Content security policy: scripts, styles and connections only from this server. Style attributes place the glyphs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Guard {
    pub(crate) fn new(token: &str, port: u16) -> Guard {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        Guard(Arc::new(Known { token: token.to_owned(), hosts }))
    }

    /// Reason of a refusal; None if the request is admitted.
    fn refusal(&self, request: &Request) -> Option<Problem> {
        let text = |name: header::HeaderName| request.headers().get(name).map(|v| v.to_str().unwrap_or("?"));
        let here = |host: &str| self.0.hosts.iter().any(|known| known == host);
        if !text(header::HOST).is_some_and(here) {
            return Some(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "this request names another host",
                "open the address that `williwaw serve` printed",
            ));
        }
        let own = |origin: &str| origin.strip_prefix("http://").is_some_and(here);
        let foreign = text(header::ORIGIN).is_some_and(|origin| !own(origin));
        let site = request.headers().get("sec-fetch-site").and_then(|v| v.to_str().ok());
        let api = request.uri().path().starts_with("/api/");
        // A page opened from another program has the site `none`, from a link `cross-site`. The page may be opened in
        // this way, the API may not be requested.
        if foreign || (api && matches!(site, Some("cross-site" | "same-site"))) {
            return Some(Problem::new(
                StatusCode::FORBIDDEN,
                "this request comes from another site",
                "open the address that `williwaw serve` printed",
            ));
        }
        if !api {
            return None;
        }
        let given = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if given.is_some_and(|given| same(given.as_bytes(), self.0.token.as_bytes())) {
            return None;
        }
        Some(Problem::new(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong",
            "open the address that `williwaw serve` printed, with the part after #",
        ))
    }
}

/// Compares two texts in a time independent of where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Middleware that admits or refuses a request and adds the security headers to every response.
pub(crate) async fn admit(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set("content-security-policy", POLICY);
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("cross-origin-resource-policy", "same-origin");
    set("cross-origin-opener-policy", "same-origin");
    set("x-frame-options", "DENY");
    headers.entry("cache-control").or_insert(HeaderValue::from_static("no-store"));
    response
}
