//! What a simulated program does.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use svc_simulation::Random;
use tokio::{
    io::{AsyncWriteExt, DuplexStream},
    sync::Mutex,
    task::JoinSet,
    time::sleep,
};

use super::{Programs, stdin::StdinReader};

/// How one program behaves, apart from its calls.
pub struct Character {
    pub fails_to_start: bool,
    /// Whether the stdin of the program can be a pipe of one page.
    pub has_small_pipe: bool,
    pub ignores_term: bool,
    exits_at_once: bool,
    ignores_eof: bool,
    /// The time before the program reads its stdin.
    starts_within: Duration,
    reports_ready: bool,
    lives_for: Option<Duration>,
}

impl Character {
    pub fn draw(random: &mut Random, is_calm: bool) -> Self {
        let is_bad = |random: &mut Random, percent| random.is_chance(percent) && !is_calm;
        Self {
            fails_to_start: is_bad(random, 5),
            has_small_pipe: !is_bad(random, 10),
            ignores_term: is_bad(random, 20),
            exits_at_once: is_bad(random, 10),
            ignores_eof: is_bad(random, 30),
            starts_within: match is_bad(random, 20) {
                true => random.time_below(Duration::from_secs(3)),
                false => Duration::ZERO,
            },
            reports_ready: random.is_chance(50),
            lives_for: is_bad(random, 40).then(|| random.time_below(Duration::from_secs(20))),
        }
    }
}

/// What a program does with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Answer,
    Fail,
    /// Writes a response without a result and without an error.
    AnswerInvalidly,
    AnswerTwice,
    /// Writes lines that are no responses, and a response with an unknown id, before the answer.
    AnswerAfterGarbage,
    AnswerInPieces,
    ReportProgress,
    NeverAnswer,
    Exit,
    /// Exits after half of the line with the answer.
    ExitInLine,
    /// Closes stdout and continues to run.
    CloseStdout,
    /// Reads nothing for a while.
    StopReading,
}

impl Fate {
    fn draw(random: &mut Random, is_calm: bool) -> Self {
        if is_calm {
            return Self::Answer;
        }
        match random.below(100) {
            0..50 => Self::Answer,
            50..56 => Self::Fail,
            56..59 => Self::AnswerInvalidly,
            59..64 => Self::AnswerTwice,
            64..69 => Self::AnswerAfterGarbage,
            69..74 => Self::AnswerInPieces,
            74..78 => Self::ReportProgress,
            78..83 => Self::NeverAnswer,
            83..88 => Self::Exit,
            88..92 => Self::ExitInLine,
            92..94 => Self::CloseStdout,
            _ => Self::StopReading,
        }
    }
}

pub struct RunningProgram {
    pub id: u32,
    pub programs: Arc<Programs>,
    pub character: Character,
    pub stdin: StdinReader,
    pub stdout: Option<DuplexStream>,
    pub stderr: DuplexStream,
}

/// The answer to one call, in a task of its own.
struct Answering {
    id: u32,
    programs: Arc<Programs>,
    stdout: Arc<Mutex<Option<DuplexStream>>>,
    call: u64,
    /// The id of the request.
    request: u64,
    fate: Fate,
    after: Duration,
}

impl RunningProgram {
    /// Runs the program. Returns its exit code.
    pub async fn run(mut self) -> i32 {
        let lives_for = self.character.lives_for;
        let lifetime = async {
            match lives_for {
                Some(time) => sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = lifetime => 3,
            code = self.serve() => code,
        }
    }

    fn time_below(&self, limit: Duration) -> Duration {
        self.programs.random.lock().time_below(limit)
    }

    async fn serve(&mut self) -> i32 {
        // The agent may have closed the pipe already.
        let _ = self.stderr.write_all(b"starting\n").await;
        if self.character.exits_at_once {
            return 1;
        }
        sleep(self.character.starts_within).await;
        let stdout = Arc::new(Mutex::new(self.stdout.take()));
        if self.character.reports_ready {
            write(&stdout, r#"{"jsonrpc":"2.0","method":"$/ready"}"#).await;
        }
        let mut answers = JoinSet::new();
        while let Some(line) = self.stdin.next().await {
            let request: Value = serde_json::from_str(&line).expect("a request is JSON");
            let answering = self.begin(&stdout, &request);
            match answering.fate {
                Fate::Exit => return 1,
                Fate::ExitInLine => {
                    let line = answering.line();
                    answering.write_part(&line[..line.len() / 2]).await;
                    return 1;
                }
                Fate::CloseStdout => *stdout.lock().await = None,
                Fate::NeverAnswer => {}
                Fate::StopReading => {
                    answers.spawn(answering.run());
                    sleep(self.time_below(Duration::from_secs(8))).await;
                }
                _ => {
                    answers.spawn(answering.run());
                }
            }
        }
        match self.character.ignores_eof {
            true => std::future::pending().await,
            false => sleep(self.time_below(Duration::from_secs(1))).await,
        }
        0
    }

    /// Begins to execute a call.
    fn begin(&self, stdout: &Arc<Mutex<Option<DuplexStream>>>, request: &Value) -> Answering {
        let call = request["params"][0].as_u64().expect("the number of a call");
        self.programs.ledger.executes(self.id, call);
        let mut random = self.programs.random.lock();
        Answering {
            id: self.id,
            programs: Arc::clone(&self.programs),
            stdout: Arc::clone(stdout),
            call,
            request: request["id"].as_u64().expect("the id of a request"),
            fate: Fate::draw(&mut random, self.programs.is_calm()),
            after: random.time_below(Duration::from_millis(700)),
        }
    }
}

async fn write(stdout: &Mutex<Option<DuplexStream>>, line: &str) {
    if let Some(stdout) = &mut *stdout.lock().await {
        // The agent may have closed the pipe already.
        let _ = stdout.write_all(format!("{line}\n").as_bytes()).await;
    }
}

impl Answering {
    fn line(&self) -> String {
        let request = self.request;
        let answer = match self.fate {
            Fate::Fail => r#""error":{"code":1,"message":"x"}"#.to_owned(),
            Fate::AnswerInvalidly => r#""nothing":0"#.to_owned(),
            _ => format!(r#""result":{}"#, self.call),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{request},{answer}}}"#)
    }

    async fn run(self) {
        sleep(self.after).await;
        let line = self.line();
        if self.fate == Fate::ReportProgress {
            let request = self.request;
            for done in 0..30 {
                let progress = format!(r#"{{"id":{request},"progress":{done},"total":30}}"#);
                write(
                    &self.stdout,
                    &format!(r#"{{"jsonrpc":"2.0","method":"$/progress","params":{progress}}}"#),
                )
                .await;
                sleep(Duration::from_millis(20)).await;
            }
        }
        if self.fate == Fate::AnswerAfterGarbage {
            for garbage in [
                "",
                "hello",
                "{",
                r#"{"id":"x","result":1}"#,
                r#"{"id":9999999,"result":1}"#,
            ] {
                write(&self.stdout, garbage).await;
            }
        }
        if self.fate == Fate::AnswerInPieces {
            let (start, end) = line.split_at(line.len() / 3);
            let mut stdout = self.stdout.lock().await;
            let Some(stdout) = &mut *stdout else { return };
            let _ = stdout.write_all(start.as_bytes()).await;
            sleep(self.after).await;
            self.programs.ledger.finishes(self.id, self.call);
            let _ = stdout.write_all(format!("{end}\n").as_bytes()).await;
            return;
        }
        // Before the answer is written: the agent may send the next call at once.
        self.programs.ledger.finishes(self.id, self.call);
        write(&self.stdout, &line).await;
        if self.fate == Fate::AnswerTwice {
            write(&self.stdout, &line).await;
        }
    }

    async fn write_part(&self, part: &str) {
        if let Some(stdout) = &mut *self.stdout.lock().await {
            let _ = stdout.write_all(part.as_bytes()).await;
        }
    }
}
