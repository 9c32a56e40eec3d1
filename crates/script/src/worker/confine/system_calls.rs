//! The system calls that a sandboxed worker may make. All others return `EPERM`, except `clone3`,
//! which returns `ENOSYS`.
//!
//! A forbidden call does not kill the process, because a library may try a call that it does not
//! need.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Allowed with any arguments.
const ALLOWED: &[i64] = &[
    // Files that are already open: the pipes, and the file of the memory gauge.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_ppoll,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Threads.
    libc::SYS_futex,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_restart_syscall,
    // Signal handling.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // Clocks and random numbers.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    // The filter of `without_clone3` rejects this call. If two filters differ, the stricter result
    // applies.
    libc::SYS_clone3,
];

/// Calls that exist only on x86-64.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[i64] = &[libc::SYS_poll, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[i64] = &[];

/// Filters the system calls of every thread, permanently.
pub(super) fn filter() -> Result<(), Error> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    apply_filter_all_threads(&without_clone3(arch)?)?;
    apply_filter_all_threads(&allow_list(arch)?)
}

fn allow_list(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let unconditional = ALLOWED.iter().chain(ALLOWED_HERE);
    let mut rules: Rules = unconditional.map(|&call| (call, Vec::new())).collect();
    // May start threads, but no processes.
    let thread = bits(libc::CLONE_THREAD);
    rules.insert(
        libc::SYS_clone,
        vec![rule(0, SeccompCmpOp::MaskedEq(thread), thread)?],
    );
    // No executable memory.
    let runs = bits(libc::PROT_EXEC);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![rule(2, SeccompCmpOp::MaskedEq(runs), 0)?]);
    }
    // Signals to this process only, for an abort.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, own)?]);
    // May set the name of a thread.
    let name = bits(libc::PR_SET_NAME);
    rules.insert(libc::SYS_prctl, vec![rule(0, SeccompCmpOp::Eq, name)?]);
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()
}

/// Makes `clone3` return `ENOSYS`, so that the C library uses `clone`. Filters cannot see the flags
/// of `clone3`.
fn without_clone3(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let rules = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, absent, arch)?.try_into()
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    SeccompRule::new(vec![condition])
}

fn bits(flags: i32) -> u64 {
    u64::from(flags.unsigned_abs())
}
