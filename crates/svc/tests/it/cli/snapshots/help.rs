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
          server       Run the server, check it, and list the servers of its zone
          agent        Start, inspect and stop a space's agent
          methods      Publish methods from a space
          method       Find methods and call them
          calls        List recorded calls, and follow new ones
          event        Emit a custom event and print its id
          events       List past events, and follow new ones
          run-script   Run a Python script, or serve methods with one; needs no installed Python
          script       Manage stored scripts: startup scripts, event sinks, tools and libraries
          mcp          Configure MCP clients, and call the tools that they see
          sink         Manage event sinks, to which events are delivered in order and with retries
          source       Manage sources: requests of other services that become events
          schedule     Manage schedules: events at the times of a cron expression
          space        Manage spaces: the workspaces whose agents publish methods
          token        Manage your API tokens
          user         Manage users
          group        Manage groups of users; a shared method can be limited to groups
          role         Manage roles: named sets of permissions
          oidc         Manage the OpenID Connect providers that users sign in with
          template     Manage templates: settings that several spaces share
          login        Log in to a server and save it as the current context
          logout       Revoke the current context's token and all tokens created with it, and remove the
                       context
          whoami       Show your user, credential and permissions on the server
          top          Show methods, spaces and sinks with their load, and refresh the view until stopped
          doctor       Check the server and the space of this folder, and say what to do
          context      Manage saved servers and credentials
          audit        Read the audit log
          api          Send any request to the server's API and print the unchanged answer
          backup       Back up the embedded database, and restore it
          migrate      Move a stopped server's data to an empty PostgreSQL database, for a zone
          prove        Kill, freeze and disturb test servers on this machine, and check that no event is
                       lost
          completions  Print a completion script for a shell
          version      Show the version, or the licences of the software that svc contains
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Global options:
          -o, --output <FORMAT>      Output format [default: table] [possible values: table, json, yaml]
              --context <NAME>       Saved context to use instead of the current one
              --config <FILE>        Configuration file [env: SVC_CONFIG]
              --log-format <FORMAT>  Log format [env: SVC_LOG_FORMAT] [possible values: human, json]
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
          call  Call a method and print the JSON-RPC response
          help  Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Global options:
          -o, --output <FORMAT>      Output format [default: table] [possible values: table, json, yaml]
              --context <NAME>       Saved context to use instead of the current one
              --config <FILE>        Configuration file [env: SVC_CONFIG]
              --log-format <FORMAT>  Log format [env: SVC_LOG_FORMAT] [possible values: human, json]
        --- exit 0
    "#]]).await;
    check(&["method", "call", "--help"], expect![[r#"
        $ svc method call --help
          svc method call notes.add '{"text":"hello"}'
          svc method call math.add '{"a":1,"b":2}' --result
          svc method call math.add --batch '[{"a":1,"b":2},{"a":3,"b":4}]'
          echo '{"query":"he"}' | svc method call notes.search

        Call a method and print the JSON-RPC response

        Usage: svc method call [OPTIONS] <NAME> [PARAMS]

        Arguments:
          <NAME>    Name as `svc method list` shows it
          [PARAMS]  Params as JSON; `-` means stdin, the default if stdin is redirected; empty means {}

        Options:
              --batch              Params are an array: one call per element
              --result             Print only the result
              --notify             Send a notification, which has no answer
              --timeout <SECONDS>  Seconds to wait for the answer
              --curl               Print the curl command instead of calling; it reads the token from
                                   $SVC_TOKEN
          -h, --help               Print help
          -V, --version            Print version

        Global options:
          -o, --output <FORMAT>      Output format [default: table] [possible values: table, json, yaml]
              --context <NAME>       Saved context to use instead of the current one
              --config <FILE>        Configuration file [env: SVC_CONFIG]
              --log-format <FORMAT>  Log format [env: SVC_LOG_FORMAT] [possible values: human, json]
        --- exit 0
    "#]]).await;
    check(
        &["version"],
        expect![[r#"
        $ svc version
        svc 0.2.0
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
        error: invalid value 'xml' for '--output <FORMAT>'
          [possible values: table, json, yaml]

          tip: a similar value exists: 'yaml'

        For more information, try '--help'.
        --- exit 2
    "#]],
    )
    .await;
}
