//! The SHA-256 of a table: of its definition, of the definitions of its indexes, and of every value
//! of every row, in the order of the primary key.

use rusqlite::Connection;

use crate::fields::Fields;

/// The number of rows of a table, and the hash of its contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TableDigest {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) sha256: Vec<u8>,
}

/// Every table except those of the manifest and of SQLite, by name.
pub(super) fn tables(connection: &Connection) -> Result<Vec<TableDigest>, rusqlite::Error> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_master
         WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
           AND name NOT LIKE 'backup\\_%' ESCAPE '\\'
         ORDER BY name",
    )?;
    let names = statement
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    names
        .into_iter()
        .map(|name| table(connection, name))
        .collect()
}

fn table(connection: &Connection, name: String) -> Result<TableDigest, rusqlite::Error> {
    let mut hash = Fields::default();
    // The table's own definition, and those of its indexes.
    let mut definitions = connection
        .prepare("SELECT type, name, sql FROM sqlite_master WHERE tbl_name = ?1 ORDER BY 1, 2")?;
    hash_rows(&mut hash, &mut definitions, [&name])?;
    let order = primary_key(connection, &name)?;
    let mut statement =
        connection.prepare(&format!("SELECT * FROM {} ORDER BY {order}", quoted(&name)))?;
    let rows = hash_rows(&mut hash, &mut statement, [])?;
    Ok(TableDigest {
        name,
        rows,
        sha256: hash.finish(),
    })
}

fn hash_rows(
    hash: &mut Fields,
    statement: &mut rusqlite::Statement<'_>,
    params: impl rusqlite::Params,
) -> Result<u64, rusqlite::Error> {
    let columns = statement.column_count();
    let mut rows = statement.query(params)?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            hash.value(row.get_ref(column)?);
        }
        hash.end_of_row();
        count += 1;
    }
    Ok(count)
}

/// The columns of the primary key for ORDER BY; the row id if there is no key.
fn primary_key(connection: &Connection, table: &str) -> Result<String, rusqlite::Error> {
    let columns = connection
        .prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?
        .query_map([table], |row| row.get::<_, String>(0))?
        .map(|name| name.map(|name| quoted(&name)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(if columns.is_empty() {
        "rowid".to_owned()
    } else {
        columns.join(", ")
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(sql: &str) -> Vec<u8> {
        let connection = Connection::open_in_memory().expect("opens");
        connection.execute_batch(sql).expect("valid");
        let mut all = tables(&connection).expect("readable");
        all.remove(0).sha256
    }

    #[test]
    fn values_types_lengths_and_definitions_change_the_hash() {
        let table = "CREATE TABLE t (a, b);";
        let contents = [
            "",
            "INSERT INTO t VALUES ('ab', 'c');",
            "INSERT INTO t VALUES ('a', 'bc');",
            "INSERT INTO t VALUES (X'6162', 'c');",
            "INSERT INTO t VALUES (NULL, '');",
            "INSERT INTO t VALUES ('', NULL);",
            "INSERT INTO t VALUES (1, 2);",
            "INSERT INTO t VALUES (1.0, 2);",
            "INSERT INTO t VALUES ('1', 2);",
            "CREATE INDEX i ON t (a);",
        ];
        let digests: std::collections::BTreeSet<_> = contents
            .iter()
            .map(|content| digest(&format!("{table}{content}")))
            .collect();
        assert_eq!(digests.len(), contents.len());
        let renamed = digest("CREATE TABLE u (a, b);");
        assert!(!digests.contains(&renamed));
    }

    #[test]
    fn the_order_of_writing_does_not_matter() {
        let table = "CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (b, a));";
        let (first, second) = (
            "INSERT INTO t VALUES ('x', '1');",
            "INSERT INTO t VALUES ('y', '0');",
        );
        assert_eq!(
            digest(&format!("{table}{first}{second}")),
            digest(&format!("{table}{second}{first}"))
        );
    }
}
