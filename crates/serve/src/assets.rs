//! Files of the control tool's web page, embedded in the binary: markup, program, style, icon.
//!
//! `page/dist` is built by `npm run build` in `page/` and is part of the repository, so that the build here needs no
//! Node.

use axum::http::header;
use axum::response::IntoResponse;

const MARKUP: &str = include_str!("../page/dist/index.html");
const PROGRAM: &str = include_str!("../page/dist/app.js");
const STYLE: &str = include_str!("../page/dist/app.css");
const ICON: &str = include_str!("../page/dist/icon.svg");

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}

pub(crate) async fn markup() -> impl IntoResponse {
    file("text/html; charset=utf-8", MARKUP)
}

pub(crate) async fn program() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", PROGRAM)
}

pub(crate) async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", STYLE)
}

pub(crate) async fn icon() -> impl IntoResponse {
    file("image/svg+xml", ICON)
}
