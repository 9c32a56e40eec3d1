//! The writing end of the pipe to a method server's stdin: the system calls, without a decision
//! about which lines are written.

use std::{io, os::fd::OwnedFd, sync::Arc};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::{
    io::{Interest, unix::AsyncFd},
    process::ChildStdin,
};

#[cfg(test)]
use super::simulated::SimulatedStdin;

pub enum PipeEnd {
    Kernel(KernelPipe),
    #[cfg(test)]
    Simulated(SimulatedStdin),
}

pub struct KernelPipe {
    fd: Arc<OwnedFd>,
    /// Created when the writer must wait for the pipe, and dropped when no line waits: while it
    /// exists, every read by the method server wakes the agent.
    waiter: Option<AsyncFd<Arc<OwnedFd>>>,
}

impl PipeEnd {
    pub fn new(stdin: ChildStdin) -> io::Result<Self> {
        let fd = stdin.into_owned_fd()?;
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self::Kernel(KernelPipe {
            fd: Arc::new(fd),
            waiter: None,
        }))
    }

    /// Writes as many bytes as the pipe takes now.
    pub fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        match self {
            Self::Kernel(pipe) => rustix::io::write(&pipe.fd, bytes),
            #[cfg(test)]
            Self::Simulated(pipe) => pipe.write(bytes),
        }
    }

    /// Changes the size. Fails if the pipe holds too many bytes for that, or if the system cannot
    /// change the size.
    pub fn set_size(&self, bytes: usize) -> io::Result<()> {
        match self {
            Self::Kernel(pipe) => set_size(&pipe.fd, bytes),
            #[cfg(test)]
            Self::Simulated(pipe) => pipe.set_size(bytes),
        }
    }

    /// Bytes in the pipe.
    pub fn unread_bytes(&self) -> io::Result<u64> {
        match self {
            Self::Kernel(pipe) => Ok(rustix::io::ioctl_fionread(&pipe.fd)?),
            #[cfg(test)]
            Self::Simulated(pipe) => Ok(pipe.unread_bytes()),
        }
    }

    /// Fails if the pipe has no reader.
    pub fn check_reader(&self) -> io::Result<()> {
        match self {
            Self::Kernel(pipe) => pipe.check_reader(),
            #[cfg(test)]
            Self::Simulated(pipe) => pipe.check_reader(),
        }
    }

    /// Waits until the pipe is reported as writable. A pipe of one page is then empty.
    pub async fn writable(&mut self) -> io::Result<()> {
        match self {
            Self::Kernel(pipe) => pipe.writable().await,
            #[cfg(test)]
            Self::Simulated(pipe) => pipe.writable().await,
        }
    }

    /// Ends the observation of the pipe. [`Self::writable`] starts it again.
    pub fn stop_waiting(&mut self) {
        match self {
            Self::Kernel(pipe) => pipe.waiter = None,
            #[cfg(test)]
            Self::Simulated(_) => {}
        }
    }
}

impl KernelPipe {
    fn check_reader(&self) -> io::Result<()> {
        let mut polled = [PollFd::new(&self.fd, PollFlags::OUT)];
        poll(&mut polled, Some(&Timespec::default()))?;
        if polled[0].revents().contains(PollFlags::ERR) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }

    async fn writable(&mut self) -> io::Result<()> {
        let waiter = match self.waiter.take() {
            Some(waiter) => waiter,
            None => register(&self.fd)?,
        };
        let waiter = self.waiter.insert(waiter);
        let mut ready = waiter.writable().await?;
        let is_closed = ready.ready().is_write_closed();
        // The event may be out of date. Clear it, so that the next wait needs a new event.
        ready.clear_ready();
        if is_closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }
}

#[expect(
    deprecated,
    reason = "the replacement is an unsafe function, because a type might not own its descriptor; `OwnedFd` does"
)]
fn register(fd: &Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    AsyncFd::with_interest(Arc::clone(fd), Interest::WRITABLE)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_size(fd: &OwnedFd, bytes: usize) -> io::Result<()> {
    rustix::pipe::fcntl_setpipe_size(fd, bytes)?;
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn set_size(_: &OwnedFd, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
