//! Steps the engine through one piece of code and answers its requests.

use std::{
    collections::HashMap,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use monty::{ReplProgress, ReplStartError};
use monty_types::{
    CallArgs, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    NamedValues, OsFunctionCall, PrintWriter,
};
use serde::Deserialize;

use super::{
    Evaluator, engine_lost,
    output::Output,
    watch::{TIME_MARGIN, Watch},
};
use crate::{ErrorKind, Exception, Host, Raise, RpcFault, ScriptError, Source, os};

/// The function by which the loader (the Python code that imports modules) calls the evaluator.
/// Scripts cannot reach it.
pub(super) const HOST_FUNCTION: &str = "__svc_host__";

/// State of a run that is kept here, because an exception of the engine holds only a text.
#[derive(Default)]
pub struct Pending {
    host_calls: usize,
    /// Why the evaluator stopped the run.
    pub stopped: Option<ErrorKind>,
    /// The error of a library that cannot be compiled.
    pub library: Option<ScriptError>,
    /// The last `svc.jsonrpc.error`.
    pub rpc: Option<RpcFault>,
    /// Modules that were found but have not run yet.
    pub found: HashMap<String, Source>,
}

/// The answer to a request of the script.
pub(super) enum Reply {
    Resume(ExtFunctionResult),
    /// Ends the run. The script cannot catch this.
    Stop(ErrorKind),
}

impl Evaluator {
    /// Runs code to its end within the setting's limits. Returns the value of its last expression.
    pub(super) fn feed(
        &mut self,
        code: &str,
        inputs: NamedValues,
        host: &mut dyn Host,
    ) -> Result<MontyObject, ScriptError> {
        let fresh = || Some(Instant::now() + self.setting.limits.time?);
        let watch = Watch::new(&self.setting, self.until.or_else(fresh));
        if let (Some(engine), Some(left)) = (&mut self.engine, watch.left()) {
            let tracker = engine.tracker_mut();
            tracker.set_max_feed_duration(left + TIME_MARGIN);
        }
        self.drive(code, inputs, watch, host)
    }

    /// Runs code to its end.
    pub(super) fn drive(
        &mut self,
        code: &str,
        inputs: NamedValues,
        watch: Watch,
        host: &mut dyn Host,
    ) -> Result<MontyObject, ScriptError> {
        let engine = self.engine.take().ok_or_else(engine_lost)?;
        self.pending = Pending::default();
        let mut output = Output::new(watch);
        let mut step = output.with(host, |print| engine.feed_start(code, inputs, print));
        loop {
            let progress = match step {
                Ok(ReplProgress::Complete { repl, value }) => {
                    self.engine = Some(Box::new(repl));
                    output.flush(host);
                    return match output.watch.reached() {
                        Some(limit) => Err(self.limit_reached(limit)),
                        None => Ok(value),
                    };
                }
                Ok(progress) => progress,
                Err(failed) => {
                    let ReplStartError { repl, error } = *failed;
                    self.engine = Some(Box::new(repl));
                    output.flush(host);
                    if let Some(limit) = output.watch.reached() {
                        self.pending.stopped = Some(limit.clone());
                    }
                    return Err(self.failed(&error, host));
                }
            };
            step = self.step(progress, &mut output, host);
        }
    }

    fn step(
        &mut self,
        mut progress: ReplProgress,
        output: &mut Output,
        host: &mut dyn Host,
    ) -> Result<ReplProgress, Box<ReplStartError>> {
        let answer = match &mut progress {
            // The script reached a limit, caught the exception about it, and continued.
            _ if let Some(limit) = output.watch.reached() => Reply::Stop(limit.clone()),
            // The engine asks about unknown functions. `NotFound` becomes a `NameError`.
            ReplProgress::FunctionCall(call) if call.function_name != HOST_FUNCTION => {
                let name = std::mem::take(&mut call.function_name);
                Reply::Resume(ExtFunctionResult::NotFound(name))
            }
            ReplProgress::FunctionCall(call) => {
                let args = std::mem::take(&mut call.args);
                output.flush(host);
                output.watch.wait(|| self.host_function(&args, host))
            }
            ReplProgress::OsCall(call) => match delay(&call.function_call) {
                Some(delay) => {
                    output.flush(host);
                    sleep(&mut progress, delay, &output.watch)
                }
                None => Reply::Resume(os::answer(&call.function_call, &self.setting.abilities)),
            },
            ReplProgress::ResolveFutures(_) => Reply::Stop(ErrorKind::Unsupported),
            ReplProgress::NameLookup(_) | ReplProgress::Complete { .. } => {
                Reply::Resume(ExtFunctionResult::Return(MontyObject::none()))
            }
        };
        match answer {
            Reply::Stop(why) => {
                self.pending.stopped = Some(why);
                output.with(host, |print| stop(progress, print))
            }
            Reply::Resume(result) => output.with(host, |print| resume(progress, result, print)),
        }
    }

    /// Handles `__svc_host__(…)`, which only the loader calls.
    fn host_function(&mut self, args: &CallArgs, host: &mut dyn Host) -> Reply {
        let text = |index| args.arg(index).and_then(|value| value.as_str());
        match (text(0), text(1), text(2)) {
            (Some("module"), Some(module), None) => self.module(module, host),
            (Some("path"), Some(module), child) => {
                let whole = args.arg(2).is_none_or(|value| value.as_bool().is_none());
                self.path(module, child, whole, host)
            }
            (Some("call"), Some(operation), Some(argument)) => {
                self.operation(operation, argument, host)
            }
            _ => raise(
                ExcType::TypeError,
                "a module of `svc` passed wrong arguments",
            ),
        }
    }

    fn operation(&mut self, operation: &str, argument: &str, host: &mut dyn Host) -> Reply {
        match operation {
            "route" => self.route(argument),
            "rpc_error" => match RpcFault::parse(argument) {
                Some(fault) => {
                    let answer = raise(ExcType::RuntimeError, fault.message.clone());
                    self.pending.rpc = Some(fault);
                    answer
                }
                None => raise(
                    ExcType::TypeError,
                    "a JSON-RPC error has an integer code and a text as its message",
                ),
            },
            _ if !self.count_host_call() => Reply::Stop(ErrorKind::HostCallLimit),
            "emit" | "api" if let Err(why) = self.rounding.check(argument) => {
                raise(ExcType::ValueError, why)
            }
            _ => match host.call(operation, argument) {
                Ok(answer) => {
                    self.rounding.read(&answer);
                    return_value(MontyObject::string(answer))
                }
                Err(raised) => raise_from_host(raised),
            },
        }
    }

    fn route(&mut self, argument: &str) -> Reply {
        #[derive(Deserialize)]
        struct Route {
            local_name: String,
            handler: String,
        }
        let Ok(Route {
            local_name,
            handler,
        }) = serde_json::from_str(argument)
        else {
            return raise(
                ExcType::TypeError,
                "a route has two texts: the method's local name and `library.function`",
            );
        };
        if super::find_handler(&handler).is_err() {
            return raise(
                ExcType::ValueError,
                format!("`{handler}` is not a handler name: write `library.function`"),
            );
        }
        let routes = Arc::make_mut(&mut self.routes);
        routes.retain(|(known, _)| *known != local_name);
        routes.push((local_name, handler));
        return_value(MontyObject::string("null"))
    }

    /// Counts one call to the host. Returns whether it is within the limit.
    pub(super) fn count_host_call(&mut self) -> bool {
        self.pending.host_calls += 1;
        self.pending.host_calls <= self.setting.limits.host_calls
    }
}

pub(super) fn return_value(value: MontyObject) -> Reply {
    Reply::Resume(ExtFunctionResult::Return(value))
}

pub(super) fn raise(exception: ExcType, message: impl Into<String>) -> Reply {
    Reply::Resume(ExtFunctionResult::Error(MontyException::new(
        exception,
        Some(message.into()),
    )))
}

pub(super) fn raise_from_host(raised: Raise) -> Reply {
    let exception = match raised.exception {
        Exception::ModuleNotFoundError => ExcType::ModuleNotFoundError,
        Exception::OSError => ExcType::OSError,
        Exception::PermissionError => ExcType::PermissionError,
        Exception::RuntimeError => ExcType::RuntimeError,
        Exception::TimeoutError => ExcType::TimeoutError,
        Exception::TypeError => ExcType::TypeError,
        Exception::ValueError => ExcType::ValueError,
    };
    raise(exception, raised.message)
}

fn resume(
    progress: ReplProgress,
    result: ExtFunctionResult,
    print: PrintWriter<'_>,
) -> Result<ReplProgress, Box<ReplStartError>> {
    match progress {
        ReplProgress::FunctionCall(call) => call.resume(result, print),
        ReplProgress::OsCall(call) => call.resume(result, print),
        // The name is neither bound nor built in. `Undefined` becomes a `NameError`.
        ReplProgress::NameLookup(lookup) => lookup.resume(NameLookupResult::Undefined, print),
        done @ (ReplProgress::ResolveFutures(_) | ReplProgress::Complete { .. }) => Ok(done),
    }
}

fn stop(
    progress: ReplProgress,
    print: PrintWriter<'_>,
) -> Result<ReplProgress, Box<ReplStartError>> {
    let exception = MontyException::new(ExcType::RuntimeError, None);
    match progress {
        ReplProgress::FunctionCall(call) => call.abort(exception, print),
        ReplProgress::OsCall(call) => call.abort(exception, print),
        ReplProgress::NameLookup(lookup) => lookup.abort(exception, print),
        ReplProgress::ResolveFutures(futures) => futures.abort(exception, print),
        done @ ReplProgress::Complete { .. } => Ok(done),
    }
}

fn delay(call: &OsFunctionCall) -> Option<Duration> {
    match call {
        OsFunctionCall::Sleep(delay)
        | OsFunctionCall::SystemSleep(delay)
        | OsFunctionCall::AsyncSleep(delay)
        | OsFunctionCall::AsyncSystemSleep(delay) => Some(*delay),
        _ => None,
    }
}

/// Sleeps, and subtracts the delay from the script's remaining time.
fn sleep(progress: &mut ReplProgress, delay: Duration, watch: &Watch) -> Reply {
    let Some(left) = watch.left() else {
        thread::sleep(delay);
        return return_value(MontyObject::none());
    };
    thread::sleep(delay.min(left));
    if delay >= left {
        return Reply::Stop(ErrorKind::TimeLimit);
    }
    let tracker = progress.tracker_mut();
    tracker.set_max_feed_duration(left - delay + TIME_MARGIN);
    return_value(MontyObject::none())
}
