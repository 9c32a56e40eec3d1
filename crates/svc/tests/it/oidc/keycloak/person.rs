//! A person who uses the pages of Keycloak.

use std::collections::BTreeMap;

use svc_testkit::{Answer, Http};

use super::super::{Browser, Site, local};

pub(super) fn password_of(name: &str) -> String {
    format!("password of {name}")
}

/// A person, and the cookies of Keycloak in their browser.
pub(super) struct Person {
    name: String,
    pub(super) password: String,
    cookies: BTreeMap<String, String>,
}

impl Person {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            password: password_of(name),
            cookies: BTreeMap::new(),
        }
    }

    /// Signs in at the server with a new browser. The person may still be signed in at Keycloak.
    pub(super) async fn sign_in(&mut self, site: &Site) -> (Browser, Answer) {
        let mut browser = site.browser();
        let url = browser.start("").await;
        let callback = match self.cookies.is_empty() {
            true => self.answer_form(site, &url).await,
            false => self.visit(site, &url).await,
        };
        let callback = callback.expect("Keycloak signs the person in");
        let answer = browser.get(&local(&callback)).await;
        (browser, answer)
    }

    /// Opens a page of Keycloak. Returns the address to which Keycloak redirects the browser, if
    /// it does.
    pub(super) async fn visit(&mut self, site: &Site, url: &str) -> Option<String> {
        let headers = [("cookie", &*self.cookie())];
        let page = site.control.request("GET", &local(url), &headers, "").await;
        self.keep_cookies(&page);
        page.header("location").map(str::to_owned)
    }

    /// Opens a page of Keycloak, fills in its form and sends the form. Returns the address to which
    /// Keycloak then redirects the browser, if it does.
    pub(super) async fn answer_form(&mut self, site: &Site, url: &str) -> Option<String> {
        let headers = [("cookie", &*self.cookie())];
        let page = site.control.request("GET", &local(url), &headers, "").await;
        self.keep_cookies(&page);
        let page = page.expect(200).text();
        let action = attribute(&page, "<form", "action").expect("the page has a form");
        let code = attribute(&page, "name=\"session_code\"", "value").unwrap_or_default();
        let fields = [
            ("username", &*self.name),
            ("password", &*self.password),
            ("session_code", &*code),
            ("confirmLogout", "Logout"),
        ];
        let path = match action.contains("://") {
            true => local(&action),
            false => action,
        };
        let answer = post_form(&site.control, &path, &self.cookie(), &fields).await;
        self.keep_cookies(&answer);
        answer.header("location").map(str::to_owned)
    }

    fn cookie(&self) -> String {
        let pairs = self.cookies.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn keep_cookies(&mut self, answer: &Answer) {
        for set in answer.headers.get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match value.is_empty() {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
    }
}

/// The value of an attribute that follows `start` in a page.
fn attribute(page: &str, start: &str, name: &str) -> Option<String> {
    let (_, rest) = page.split_once(start)?;
    let (_, rest) = rest.split_once(&format!("{name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}

pub(super) async fn post_form(
    http: &Http,
    path: &str,
    cookie: &str,
    fields: &[(&str, &str)],
) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("cookie", cookie),
    ];
    http.request("POST", path, &headers, body).await
}
