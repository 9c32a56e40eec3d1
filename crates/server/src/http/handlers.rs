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

macro_rules! handlers {
    (@type app) => { $crate::app::App };
    (@type caller) => { $crate::identity::Caller };
    (@type client) => { $crate::http::client::Client };
    (@type page) => { svc_store::PageRequest };
    (@type segment) => { axum::extract::Path<String> };
    (@type id $type:ty) => { $crate::http::extract::PathId<$type> };
    (@type query $type:ty) => { $crate::http::extract::Query<$type> };
    (@type body $type:ty) => { $crate::http::extract::Json<$type> };
    (@type request $type:ty) => { $crate::http::extract::Submission<$type> };

    (@pattern segment $input:ident) => { axum::extract::Path($input) };
    (@pattern id $input:ident) => { $crate::http::extract::PathId($input) };
    (@pattern query $input:ident) => { $crate::http::extract::Query($input) };
    (@pattern body $input:ident) => { $crate::http::extract::Json($input) };
    (@pattern $name:ident $input:ident) => { $input };

    (@convert NoContent $done:expr) => {{
        $done;
        $crate::http::extract::NoContent
    }};
    (@convert WithCookies $answer:expr) => { $answer };
    (@convert $answer:ident $value:expr) => { $crate::http::extract::$answer($value) };

    ($(
        $name:ident($($input:ident $(: $type:ty)?),*) -> $answer:ident $(<$body:ty>)? = $value:expr;
    )*) => {$(
        pub async fn $name(
            $(handlers!(@pattern $input $input): handlers!(@type $input $($type)?)),*
        ) -> $crate::http::error::ApiResult<$crate::http::extract::$answer $(<$body>)?> {
            Ok(handlers!(@convert $answer $value))
        }
    )*};
}

pub(super) use handlers;
