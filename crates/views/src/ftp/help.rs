//! The long help of `slowpath ftp`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
URL is ftp://[USER[:PASSWORD]@]HOST[:PORT]/PATH. PATH begins at the folder of the login, or at the root with two slashes. \
Without a password in the URL it is taken from SLOWPATH_FTP_PASSWORD, or from the netrc file; without a user, the login is \
anonymous. FTP sends password and data unencrypted: `slowpath copy` encrypts, where both hosts have slowpath.

--tuning says who sizes the socket buffers of the data connection:
  kernel  both kernels, as for any program
  auto    this program, from RTT and rate, which it measures with the beginning of the file (Auto-ncFTP)
  drs     this program, from what moves in an RTT, again and again (DRS FTP)
  paths   this program, from what `slowpath paths` knows of the path (Enable)
The server's buffers are set too if it has a command for that (SBUF, or SITE BUFSIZE and the like). vsftpd, pure-ftpd and \
proftpd have none: then only this host's buffers change, which helps if they are the limit. Today's kernels need none of \
these where tcp_rmem and tcp_wmem are large enough: `slowpath doctor` checks that.

The file appears when all of it has arrived. An existing file is replaced only with --force. After an interruption, the same \
command continues if the server's file has not changed. A transfer between two servers is refused: this host cannot measure \
the path between them.

Exit codes: 0 the file was transferred; 2 it was not.

Examples:
  slowpath ftp get ftp://ftp.example.org/pub/big.iso
  slowpath ftp get --tuning auto ftp://me@data.example.org/run7.tar /data/
  slowpath ftp put --tuning drs run8.tar ftp://me@data.example.org/run8.tar
  slowpath ftp get --tuning paths ftp://data.example.org/run7.tar";
