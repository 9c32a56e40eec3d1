//! Help, and command lines that cannot be parsed.

use expect_test::{Expect, expect};
use svc_testkit::{Cli, TempDir};

async fn check(args: &[&str], expected: Expect) {
    let home = TempDir::new().unwrap();
    super::check(Cli::new(home.path()), args, expected).await;
}

#[tokio::test]
async fn s4_3_help() {
    check(&["--help"], expect![[r#"
        $ svc --help
          svc up                                       a server and a demo space, here and now
          svc method list                              what you can call
          svc method call notes.add '{"text":"hi"}'    call it

        Publish methods from a space, call them from anywhere, and route events

        Usage: svc [OPTIONS] <COMMAND>

        Commands:
          up           Start a server with a demo space whose methods can be called at once
          server       Run the server, and see those of its zone
          agent        Run a space's agent, or ask the one that runs
          methods      Publish methods from a space
          method       Find methods and call them
          event        Raise a custom event; prints its id
          events       Look at events: those of the past, and new ones as they come
          run-script   Run a Python script, or serve methods with one; no Python needs to be installed
          script       Manage stored scripts: run at a space's start, for events, as tools, or imported by
                       others
          mcp          Give methods to agents that speak MCP
          sink         Manage event sinks: where events are delivered, in order and more than once if need
                       be
          space        Manage spaces: the workspaces whose agents publish methods
          token        Manage your API tokens
          user         Manage users
          group        Manage the groups shared methods can be limited to
          role         Manage roles: named sets of permissions
          template     Manage templates: what spaces made from them have in common
          login        Log in to a server and save it as the current context
          logout       Revoke the current context's token, with all tokens made with it, and forget the
                       context
          whoami       Show who you are to the server, and what you may do
          context      Manage saved servers and credentials
          audit        Read the audit log
          api          Send any request to the server's API and print the answer as it came
          backup       Back up the embedded database, and restore it
          migrate      Move a stopped server's data to an empty PostgreSQL database, for a zone
          completions  Print a completion script for a shell
          version      Show the version
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Options everywhere:
          -o, --output <FORM>      Form of the output [default: table] [possible values: table, json, yaml]
              --context <NAME>     Saved context to use instead of the current one
              --config <FILE>      Configuration file [env: SVC_CONFIG]
              --log-format <FORM>  Form of the logs on stderr [env: SVC_LOG_FORMAT] [possible values: human,
                                   json]
        --- exit 0
    "#]]).await;
    check(&["method", "--help"], expect![[r#"
        $ svc method --help
          svc method list
          svc method call notes.add '{"text":"hello"}'

        Find methods and call them

        Usage: svc method [OPTIONS] <COMMAND>

        Commands:
          list  List the methods you can call, or show one
          call  Call a method; prints the JSON-RPC response
          help  Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Options everywhere:
          -o, --output <FORM>      Form of the output [default: table] [possible values: table, json, yaml]
              --context <NAME>     Saved context to use instead of the current one
              --config <FILE>      Configuration file [env: SVC_CONFIG]
              --log-format <FORM>  Form of the logs on stderr [env: SVC_LOG_FORMAT] [possible values: human,
                                   json]
        --- exit 0
    "#]]).await;
    check(&["method", "call", "--help"], expect![[r#"
        $ svc method call --help
          svc method call notes.add '{"text":"hello"}'
          svc method call math.add '{"a":1,"b":2}' --result
          svc method call math.add --batch '[{"a":1,"b":2},{"a":3,"b":4}]'
          echo '{"query":"he"}' | svc method call notes.search

        Call a method; prints the JSON-RPC response

        Usage: svc method call [OPTIONS] <NAME> [PARAMS]

        Arguments:
          <NAME>    Name as `svc method list` shows it
          [PARAMS]  Params as JSON; `-`, or nothing off a terminal, reads stdin; empty means {}

        Options:
              --batch              Params are an array: one call per element
              --result             Print the result alone
              --notify             Send a notification: no answer is produced
              --timeout <SECONDS>  Seconds this command waits for an answer
              --curl               Print the curl command instead of calling; it takes the token from
                                   $SVC_TOKEN
          -h, --help               Print help
          -V, --version            Print version

        Options everywhere:
          -o, --output <FORM>      Form of the output [default: table] [possible values: table, json, yaml]
              --context <NAME>     Saved context to use instead of the current one
              --config <FILE>      Configuration file [env: SVC_CONFIG]
              --log-format <FORM>  Form of the logs on stderr [env: SVC_LOG_FORMAT] [possible values: human,
                                   json]
        --- exit 0
    "#]]).await;
    check(
        &["version"],
        expect![[r#"
        $ svc version
        svc 0.1.0
        --- exit 0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_wrong_commands_and_flags() {
    check(
        &["whoamii"],
        expect![[r#"
        $ svc whoamii
        --- stderr
        error: unrecognized subcommand 'whoamii'

          tip: a similar subcommand exists: 'whoami'

        Usage: svc [OPTIONS] <COMMAND>

        For more information, try '--help'.
        --- exit 2
    "#]],
    )
    .await;
    check(
        &["method", "lst"],
        expect![[r#"
        $ svc method lst
        --- stderr
        error: unrecognized subcommand 'lst'

          tip: a similar subcommand exists: 'list'

        Usage: svc method [OPTIONS] <COMMAND>

        For more information, try '--help'.
        --- exit 2
    "#]],
    )
    .await;
    check(
        &["method", "list", "--serch", "notes"],
        expect![[r#"
        $ svc method list --serch notes
        --- stderr
        error: unexpected argument '--serch' found

          tip: a similar argument exists: '--search'

        Usage: svc method list --search <TEXT> [NAME]

        For more information, try '--help'.
        --- exit 2
    "#]],
    )
    .await;
    check(
        &["method", "call"],
        expect![[r#"
        $ svc method call
        --- stderr
        error: the following required arguments were not provided:
          <NAME>

        Usage: svc method call <NAME> [PARAMS]

        For more information, try '--help'.
        --- exit 2
    "#]],
    )
    .await;
    check(
        &["space", "list", "-o", "xml"],
        expect![[r#"
        $ svc space list -o xml
        --- stderr
        error: invalid value 'xml' for '--output <FORM>'
          [possible values: table, json, yaml]

          tip: a similar value exists: 'yaml'

        For more information, try '--help'.
        --- exit 2
    "#]],
    )
    .await;
}
