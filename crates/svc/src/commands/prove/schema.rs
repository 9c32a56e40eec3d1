//! The new schema of a run in a zone.

use form_urlencoded::byte_serialize;
use svc_store::{DatabaseUrl, ProvingError, ProvingSchema};

use crate::exit::{Exit, Failure, OrFail};

pub struct Schema {
    inner: ProvingSchema,
    /// The URL with which servers use the schema.
    pub url: String,
}

impl Schema {
    /// Creates the schema.
    pub async fn create(url: &str, name: &str) -> Result<Self, Failure> {
        let database = DatabaseUrl::parse(url).or_usage("--database-url is not valid")?;
        let created = ProvingSchema::create(database, name).await;
        let schema = created.map_err(failure)?;
        Ok(Self {
            url: with_schema(url, name, &schema.application_name()),
            inner: schema,
        })
    }

    /// Ends the connections of all servers of the run. Returns their number.
    pub async fn end_connections(&self) -> Result<usize, Failure> {
        self.inner.end_connections().await.map_err(failure)
    }

    pub async fn remove(&self) -> Result<(), Failure> {
        self.inner.remove().await.map_err(failure)
    }
}

fn failure(error: ProvingError) -> Failure {
    let exit = match &error {
        ProvingError::Name(_) | ProvingError::Options => Exit::Usage,
        ProvingError::Exists(_) | ProvingError::InUse(_) => Exit::Refused,
        ProvingError::Unreachable(_) => Exit::Unreachable,
        ProvingError::Database(_) => Exit::Failure,
    };
    let failure = Failure::of_error(exit, &error);
    match error {
        ProvingError::Exists(_) => failure.hint("name a new schema with --schema"),
        ProvingError::InUse(_) => failure.hint(
            "use a database that no other server uses: createdb svc_prove, then --database-url postgres://…/svc_prove",
        ),
        _ => failure,
    }
}

/// Adds two parameters to the URL: an option that makes the schema the only one in the search path,
/// and the application name by which the database identifies the connections of the run.
fn with_schema(url: &str, name: &str, application: &str) -> String {
    let option = format!("-csearch_path={name}");
    let option: String = byte_serialize(option.as_bytes()).collect();
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}options={option}&application_name={application}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_an_option_of_the_url() {
        let check = |url: &str, expected: &str| assert_eq!(with_schema(url, "s", "a"), expected);
        let more = "options=-csearch_path%3Ds&application_name=a";
        check("postgres://a@b/c", &format!("postgres://a@b/c?{more}"));
        check(
            "postgres://a@b/c?sslmode=disable",
            &format!("postgres://a@b/c?sslmode=disable&{more}"),
        );
    }
}
