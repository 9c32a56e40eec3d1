//! The users that this process trusts.

/// The user id with which this process opens files and sockets.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether this process trusts files and processes of a user. Root can read and change everything
/// of this process anyway.
pub fn is_own_or_root(uid: u32) -> bool {
    uid == 0 || uid == own_uid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_user_and_root_are_trusted() {
        assert!(is_own_or_root(own_uid()));
        assert!(is_own_or_root(0));
        assert!(!is_own_or_root(own_uid() + 1));
    }
}
