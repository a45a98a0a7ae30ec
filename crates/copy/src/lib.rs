//! Copies files between two hosts over parallel TCP connections that size themselves, and reports what limited the copy.
//!
//! weigle compared techniques that find the size of TCP's buffers. DRS FTP is the one for a program without help from the
//! kernel: the receiver measures what arrives in an RTT and passes the buffer that this needs on the control channel. This
//! crate is that program for today's kernels, which size buffers themselves: it adds connections while that helps, and says
//! what bound each of them.
//!
//! - [`place`]: `[user@]HOST:PATH` and `slowpath://HOST/PATH`.
//! - [`protocol`]: the messages between the two ends, the blocks on the data connections, and the names that are accepted.
//! - [`arrivals`]: which blocks have arrived.
//! - [`drs`]: the buffer that an RTT's arrivals need. [`growth`]: when more connections help.
//! - [`account`]: what bound each connection, in the words of `slowpath diagnose`.
//! - [`hints`]: what is known of the path beforehand. [`report`]: the result.
//! - [`real`]: files, sockets, ssh.
//!
//! All but [`real`] is pure.
//!
//! # Decisions
//!
//! **The kernel sizes the buffers by default.** Measured in the lab, its autotuning is as fast as Dynamic Right-Sizing in
//! the program, and it frees memory that is not needed (`docs/src/copy.md`). `SO_RCVBUF` also ends the kernel's own tuning
//! for good. DRS is for hosts whose `tcp_rmem` is too small and whose `net.core.rmem_max` is not.
//!
//! **What moves is encrypted and authenticated**, as who is used to scp expects, although it does not pass through ssh. The
//! key comes through ssh, or from a token and an ephemeral X25519 agreement (`real/crypt.rs`). ring was chosen for AES-GCM
//! and X25519 because it is maintained with rustls and uses the CPU's instructions: 1 Gbit/s costs 8 % of a core, digests included.
//!
//! **Nothing about a partial copy is noted.** What an interrupted copy left is read again, and each block is kept only if its
//! BLAKE3 digest is that of the source's block. So a kill or a crash at any instant leaves nothing that could be believed
//! wrongly. BLAKE3 was chosen over xxHash because a digest decides what is not sent: nobody who could write the source or the
//! partial copy may be able to make two blocks look alike. It derives the keys too.
//!
//! **A name appears when the disk has all of it**: a file, or a whole folder, is written under a name of its own next to the
//! final one, synced, and renamed without replacing anything.
//!
//! **The receiver decides where to write.** The source's names may not leave the destination (`protocol/names.rs`), no link
//! is followed (`openat2(2)` with `RESOLVE_BENEATH`), and the root has the name that the user wrote.
//!
//! **Threads, not a runtime.** A connection has one thread that reads the disk, encrypts and writes the socket, in turn: what
//! it waits for is what bounds it, and it can be timed.
//!
//! rustix gives file and socket calls by descriptor without `unsafe`; libc is for `TCP_INFO` and `sync_file_range(2)`.

pub mod account;
pub mod arrivals;
pub mod drs;
mod error;
pub mod growth;
pub mod hints;
pub mod place;
pub mod protocol;
pub mod real;
pub mod report;

pub use error::CopyError;
