//! HTTP: host names, proxies, slow connections, expensive requests, requests without a body,
//! messages about refused requests, the form of bodies, and the OpenAPI document.

mod compute;
mod connections;
mod empty_posts;
mod hosts;
mod messages;
mod openapi;
mod proxies;
mod shapes;
mod unfinished_bodies;
mod unread_answers;
