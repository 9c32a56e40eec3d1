//! The form that most handlers have: extract the input, make one call, convert the result.
//!
//! `get(app, caller, id: SpaceId) -> Json<Space> = app.spaces.get(&caller, id).await?;` defines
//!
//! ```ignore
//! pub async fn get(app: App, caller: Caller, PathId(id): PathId<SpaceId>) -> ApiResult<Json<Space>> {
//!     Ok(Json(app.spaces.get(&caller, id).await?))
//! }
//! ```
//!
//! The name of an input selects its extractor; the arms `@type` list them. A handler with other
//! inputs, or that does more, is an ordinary function.

pub use axum::extract::Path;
pub use svc_store::PageRequest;

pub use super::{
    client::Client,
    error::ApiResult,
    extract::{Accepted, Created, Json, NoContent, PathId, Query, Submission, WithCookies},
};
pub use crate::{app::App, identity::Caller};

macro_rules! handlers {
    (@type app) => { $crate::http::handlers::App };
    (@type caller) => { $crate::http::handlers::Caller };
    (@type client) => { $crate::http::handlers::Client };
    (@type page) => { $crate::http::handlers::PageRequest };
    (@type segment) => { $crate::http::handlers::Path<String> };
    (@type id $type:ty) => { $crate::http::handlers::PathId<$type> };
    (@type query $type:ty) => { $crate::http::handlers::Query<$type> };
    (@type body $type:ty) => { $crate::http::handlers::Json<$type> };
    (@type request $type:ty) => { $crate::http::handlers::Submission<$type> };

    (@pattern segment $input:ident) => { $crate::http::handlers::Path($input) };
    (@pattern id $input:ident) => { $crate::http::handlers::PathId($input) };
    (@pattern query $input:ident) => { $crate::http::handlers::Query($input) };
    (@pattern body $input:ident) => { $crate::http::handlers::Json($input) };
    (@pattern $name:ident $input:ident) => { $input };

    (@convert NoContent $done:expr) => {{
        $done;
        $crate::http::handlers::NoContent
    }};
    (@convert WithCookies $answer:expr) => { $answer };
    (@convert $answer:ident $value:expr) => { $crate::http::handlers::$answer($value) };

    ($(
        $name:ident($($input:ident $(: $type:ty)?),*) -> $answer:ident $(<$body:ty>)? = $value:expr;
    )*) => {$(
        pub async fn $name(
            $(handlers!(@pattern $input $input): handlers!(@type $input $($type)?)),*
        ) -> $crate::http::handlers::ApiResult<$crate::http::handlers::$answer $(<$body>)?> {
            Ok(handlers!(@convert $answer $value))
        }
    )*};
}

pub(super) use handlers;
