//! The long help of `slowpath copy`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
One of SRC and DST is on another host:
  [user@]HOST:PATH          through ssh, which starts slowpath there
  slowpath://HOST[:PORT]/PATH
                            where `slowpath copy --serve` runs; needs its
                            token in --token-file
Files and folders are copied; links, FIFOs, sockets and devices in a folder are skipped and reported. If DST is a folder, the \
copy goes into it. DST appears when all of it has arrived and is on the disk. An existing file is replaced only with --force, and \
a folder never. After an interruption, the same command continues: what arrived is compared block by block with the source.

The data moves on TCP connections of its own, encrypted and authenticated with a key that passes through ssh. The far end \
listens for them on a free port, or on --port. It begins with 4 connections, and adds more, up to 16, while that makes it \
faster. If the path store (`slowpath paths serve`, or --paths) knows the path, it begins with as many as that needs. The kernels of both \
hosts size the buffers, unless --tuning or --buffer asks for something else.

At the end it reports where the time went: disks, buffers, windows, loss, and the path, as `slowpath diagnose` names them.

Exit codes: 0 everything was copied; 1 something was skipped, or a file changed while it was read; 2 nothing was copied, and \
DST is as it was.

Examples:
  slowpath copy big.iso host:
  slowpath copy host:/data/run7 .
  slowpath copy --congestion bbr --ssh 'ssh -p 2222' big.iso me@host:/data/
  slowpath copy --serve --folder /data --listen 192.0.2.2:5718
  slowpath copy --token-file token big.iso slowpath://192.0.2.2/big.iso";
