//! Levels of socket options (include/linux/socket.h).

/// `SOL_SOCKET`.
pub const SOCKET: i32 = 1;
/// `SOL_TCP`.
pub const TCP: i32 = 6;
/// `SOL_IP`.
pub const IP: i32 = 0;
/// `SOL_IPV6`.
pub const IPV6: i32 = 41;
