//! An evaluator is one interpreter. It runs a script and calls handlers. A snapshot stores its
//! state, and a new evaluator can be restored from the snapshot.
//!
//! Modules: [`find`] finds the modules that scripts import; [`texts`] maps frames of tracebacks to
//! source texts; [`drive`] steps the engine and answers its requests, within the limits that
//! [`watch`] enforces; [`failure`] turns the engine's exceptions into [`ScriptError`]s;
//! [`snapshot`] stores an idle evaluator as bytes, in the format of [`pack`]. Each run and
//! each call gets its [`Host`] as an argument; an evaluator keeps no reference to a host.

mod drive;
mod failure;
mod find;
mod output;
mod pack;
mod params;
mod rounding;
mod snapshot;
#[cfg(test)]
mod tests;
mod texts;
mod watch;

use std::{sync::Arc, time::Instant};

use monty::{MontyRepl, MontyRun};
use monty_types::{
    AssertMessageAnnotations, CompileOptions, MontyObject, NamedValues, OsPolicy, ProcessTime,
    ResourceLimits, ResourceTracker, SleepMode,
};

pub use self::snapshot::Snapshot;
use self::{
    drive::{HOST_FUNCTION, Pending},
    find::Modules,
    rounding::Rounding,
    texts::Texts,
    watch::{MEMORY_MARGIN, Watch},
};
use crate::{
    Abilities, ErrorKind, Host, ScriptError, Setting, Source,
    modules::LOADER,
    rewrite::{Role, needs_language, normalize, rewrite},
};

/// Assertion messages as in CPython, without the engine's annotations.
const COMPILE: CompileOptions = CompileOptions {
    assert_message_annotations: AssertMessageAnnotations::Off,
    source_scan_threshold: monty_types::SOURCE_SCAN_THRESHOLD,
};

/// `sys.platform`, with the values of CPython.
const PLATFORM: &str = if cfg!(target_os = "macos") {
    "darwin"
} else {
    std::env::consts::OS
};

/// Code that runs first in a new evaluator. It executes the text of the loader, which gets
/// `sys.argv` and `sys.platform`.
const START: &str = "\
__svc_loader__ = {'__name__': '__svc_loader__', '__svc_host__': __svc_host__}
__svc_loader__['argv'] = __svc_argv__
__svc_loader__['platform'] = __svc_platform__
exec(__svc_text__, __svc_loader__)
__svc__ = __svc_loader__['tools']
__svc_text__ = __svc_loader__ = __svc_host__ = None
";

/// Code that runs before each call in a restored evaluator whose scripts mention `random`. Without
/// it, all evaluators of one snapshot would get the same random numbers.
const RESEED: &str = "\
import random as __svc_random__
__svc_random__.seed()
";

/// Code that runs before a script that needs the functions of `python/language.py`.
const LOAD_LANGUAGE: &str = "__svc__.load_language()\n";

/// Checks that the embedded engine can compile a script. Runs nothing. Time and memory of the
/// compiler are not limited: check scripts of other users in a worker.
pub fn check(script: &Source) -> Result<(), ScriptError> {
    let text = normalize(&script.text);
    let path = &script.file;
    let code = rewrite(&script.file, &text, Role::Main { path })?;
    compile(&script.file, &text, code)
}

/// [`check`] for scripts that the server stores.
pub(crate) fn check_for_server(script: &Source) -> Result<(), ScriptError> {
    check(script).map_err(|mut error| {
        failure::adapt_hint_to_server(&mut error);
        error
    })
}

/// Compiles rewritten `code`; errors show the lines of `text`.
fn compile(file: &str, text: &str, code: String) -> Result<(), ScriptError> {
    match MontyRun::new(code, file, Vec::new(), COMPILE) {
        Ok(_) => Ok(()),
        Err(exception) => Err(failure::of_compilation(file, text, &exception)),
    }
}

pub struct Evaluator {
    /// `None` while code runs, and permanently after a failure of the engine.
    engine: Option<Box<MontyRepl>>,
    setting: Arc<Setting>,
    texts: Texts,
    routes: Arc<Vec<(String, String)>>,
    modules: Modules,
    /// Whether the evaluator was restored and its scripts mention `random`.
    reseed: bool,
    /// The deadline of all further code. Set by [`Self::share_time`].
    until: Option<Instant>,
    pending: Pending,
    rounding: Rounding,
}

impl Evaluator {
    pub fn new(setting: &Setting) -> Self {
        let policy = OsPolicy {
            sleep: SleepMode::CallHost,
            process_time: ProcessTime::Elapsed,
            ..OsPolicy::default()
        };
        let tracker = ResourceTracker::default();
        let mut engine = MontyRepl::new("__main__", tracker, COMPILE).with_os_policy(policy);
        if let Abilities::Full { folder } = &setting.abilities
            && let Some(folder) = folder.to_str()
        {
            engine.set_cwd(folder);
        }
        let mut evaluator = Self {
            engine: Some(Box::new(engine)),
            setting: Arc::new(setting.clone()),
            texts: Texts::default(),
            routes: Arc::default(),
            modules: Modules::default(),
            reseed: false,
            until: None,
            pending: Pending::default(),
            rounding: Rounding::default(),
        };
        evaluator.start();
        evaluator
    }

    /// Runs the loader without limits, then sets the limits for scripts.
    fn start(&mut self) {
        let loader = self
            .texts
            .add_executed("svc/_loader.py", LOADER, LOADER, true);
        let args = self.setting.args.iter().map(MontyObject::string);
        let host = MontyObject::function(HOST_FUNCTION, None);
        let mut inputs = NamedValues::new();
        inputs.push("__svc_text__", MontyObject::string(loader));
        inputs.push("__svc_argv__", MontyObject::list(args));
        inputs.push("__svc_platform__", MontyObject::string(PLATFORM));
        inputs.push(HOST_FUNCTION, host);
        self.drive(START, inputs, Watch::default(), &mut NoHost)
            .expect("the loader is part of this crate and makes no call to the host");
        let limits = &self.setting.limits;
        let mut bounds = ResourceLimits::default().max_recursion_depth(limits.recursion);
        let margin = |bytes: usize| bytes.saturating_add(MEMORY_MARGIN);
        bounds.max_memory = limits.memory_bytes.map(margin);
        if let Some(engine) = &mut self.engine {
            *engine.tracker_mut() = ResourceTracker::new(bounds);
        }
    }

    /// From now on, all code shares the time limit of one run. Without this call, every run and
    /// every call has the whole time.
    pub fn share_time(&mut self) {
        self.until = self.setting.limits.time.map(|time| Instant::now() + time);
    }

    /// Runs a script as `__main__`.
    pub fn run(&mut self, script: &Source, host: &mut dyn Host) -> Result<(), ScriptError> {
        let text = normalize(&script.text);
        let path = match &self.setting.abilities {
            Abilities::Full { folder } => folder.join(&script.file).to_string_lossy().into_owned(),
            Abilities::None => script.file.clone(),
        };
        let mut code = rewrite(&script.file, &text, Role::Main { path: &path });
        if let Err(refused) = &mut code {
            self.adapt_hint(refused);
        }
        let code = code?;
        if needs_language(&code) {
            self.feed(LOAD_LANGUAGE, NamedValues::new(), host)?;
        }
        let name = self.engine()?.next_script_name();
        self.texts.add_fed(name, &script.file, &text);
        match self.feed(&code, NamedValues::new(), host) {
            Ok(_) => Ok(()),
            Err(error) if error.kind == ErrorKind::Exit(0) => Ok(()),
            Err(error) => {
                // The error may come from the engine's compiler, which raises the same kinds of
                // exceptions as scripts. Compile again: an error of the compiler names the line.
                let mut refused = compile(&script.file, &text, code).err();
                if let Some(refused) = &mut refused {
                    self.adapt_hint(refused);
                }
                Err(refused.unwrap_or(error))
            }
        }
    }

    /// Calls `library.function`, or `__main__.function` of the script. Parameters and result are
    /// JSON texts.
    pub fn call(
        &mut self,
        handler: &str,
        params: &str,
        host: &mut dyn Host,
    ) -> Result<String, ScriptError> {
        let reseed = if self.reseed { RESEED } else { "" };
        let find = find_handler(handler)?;
        self.rounding.read(params);
        let (value, read) = match params::parse(params) {
            Some(value) => (value, "__svc_params__"),
            None => (MontyObject::string(params), "__svc__.loads(__svc_params__)"),
        };
        let code =
            format!("{reseed}{find}__svc__.invoke(\"{handler}\", __svc_handler__, {read})\n");
        let mut inputs = NamedValues::new();
        inputs.push("__svc_params__", value);
        let value = self.feed(&code, inputs, host)?;
        match value.as_ref().as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(ScriptError::worker(
                "the engine returned a result that is not text",
            )),
        }
    }

    /// Imports the library of every route, so that a snapshot contains it, and checks that the
    /// function exists.
    pub fn load_routes(&mut self, host: &mut dyn Host) -> Result<(), ScriptError> {
        for (local_name, handler) in self.routes.clone().iter() {
            let code = find_handler(handler)?;
            self.feed(&code, NamedValues::new(), host)
                .map_err(|mut error| {
                    error.message = format!(
                        "method `{local_name}` is routed to `{handler}`: {}",
                        error.message
                    );
                    error
                })?;
        }
        Ok(())
    }

    /// The routes that `svc.jsonrpc.method` has set: local name and handler.
    pub fn routes(&self) -> &[(String, String)] {
        &self.routes
    }

    /// The files loaded so far, so that a caller can watch them for changes.
    pub fn files(&self) -> Vec<String> {
        self.texts.files()
    }

    fn engine(&self) -> Result<&MontyRepl, ScriptError> {
        self.engine.as_deref().ok_or_else(engine_lost)
    }
}

fn engine_lost() -> ScriptError {
    ScriptError::worker("the engine failed in an earlier run")
}

/// Statements that bind `__svc_handler__` to the handler. The parts of its name become code, so
/// each must be an identifier.
fn find_handler(handler: &str) -> Result<String, ScriptError> {
    let is_name = |part: &str| monty_types::is_identifier(part);
    let (library, function) = handler.rsplit_once('.').unwrap_or_default();
    if !handler.split('.').all(is_name) || library.is_empty() {
        return Err(ScriptError::bare(
            ErrorKind::Exception,
            format!("`{handler}` is not a handler name: write `library.function`"),
        ));
    }
    Ok(if library == "__main__" {
        format!(
            "try:\n    __svc_handler__ = {function}\nexcept NameError:\n    \
             raise ImportError(\"the script has no function `{function}`\")\n"
        )
    } else {
        format!("__svc_handler__ = __svc__.get(\"{library}\", \"{function}\")\n")
    })
}

/// The host of code that makes no calls.
struct NoHost;

impl Host for NoHost {
    fn library(&mut self, _module: &str) -> Result<Option<Source>, crate::Raise> {
        Ok(None)
    }

    fn call(&mut self, operation: &str, _argument: &str) -> Result<String, crate::Raise> {
        Err(crate::Raise::runtime(format!(
            "`{operation}` is not available here"
        )))
    }

    fn print(&mut self, _stream: crate::Stream, _text: &str) {}
}
