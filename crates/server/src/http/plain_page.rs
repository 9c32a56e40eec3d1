//! Answers to a browser during a sign-in at a provider or the consent for an app: a redirect, or an
//! error page. The page works without JavaScript.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use super::web::protect_page;

/// Shown if the server itself failed.
pub const UNAVAILABLE: &str = "The server could not answer. Try again.";

pub fn redirect(target: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    if let Ok(target) = HeaderValue::from_str(target) {
        headers.insert(header::LOCATION, target);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    response
}

/// An error page with a reason and a link.
pub struct ErrorPage<'a> {
    pub title: &'a str,
    pub heading: &'a str,
    /// May contain text that an app or a provider chose. The page escapes it.
    pub reason: &'a str,
    /// The text before the link.
    pub note: &'a str,
    /// The address and the text of the link.
    pub link: (&'a str, &'a str),
}

impl ErrorPage<'_> {
    pub fn answer(&self, status: StatusCode) -> Response {
        let Self {
            title,
            heading,
            note,
            link: (address, text),
            ..
        } = self;
        let reason = escape(self.reason);
        let page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>svc: {title}</title></head>\
             <body><main><h1>{heading}</h1><p>{reason}</p>\
             <p>{note} <a href=\"{address}\">{text}</a>.</p>\
             </main></body></html>\n"
        );
        let content_type = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        let mut response = (status, content_type, page).into_response();
        protect_page(response.headers_mut());
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        match character {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            other => escaped.push(other),
        }
        escaped
    })
}
