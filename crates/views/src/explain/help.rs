//! The long help of `slowpath explain`.

/// What `explain buffer --help` teaches about the command.
pub const BUFFER_HELP: &str = "\
Shows every step with the kernel's function, its formula, inputs and result: the buffer after SO_RCVBUF or SO_SNDBUF, the value of \
getsockopt, the share used as window, the window scale in the SYN, the first and the largest window, and how much a send \
buffer allows in flight. Without SIZE, the buffers are autotuned. The values are those of the simulator: a connection on \
each kernel is taken through its handshake and as many full segments as it needs.

With --rtt, windows are also shown as rates. With --rate too, it shows whether the buffers suffice for the path, and which \
size would.

Examples:
  slowpath explain buffer 4MiB --kernel 2.2.20,2.4.17,2.6.14,6.18
  slowpath explain buffer 4MiB --kernel 2.4.17 --sysctl rmem_max=16777216 --rtt 40ms
  slowpath explain buffer --rate 1Gbit/s --rtt 40ms
  slowpath explain buffer --kernel 6.18 --sysctl tcp_rmem='4096 131072 67108864' --json";

/// What `explain wait --help` teaches about the command.
pub const WAIT_HELP: &str = "\
Under the scheduler of Linux 2.6.0 to 2.6.22, a process that has used up its time slice runs again only after all others \
have used up theirs. If it was in the middle of a read, its socket is locked, and packets wait until it runs again. The \
result is a lower bound: it assumes that every task uses its whole slice.

Give tasks by their nice values, such as 0,0,-5, or as a number of tasks with one nice value, such as 10x0.

Examples:
  slowpath explain wait --active 6x0 --expired 4x0 --rtt 1ms
  slowpath explain wait --woken -10,-5 --rtt 40ms --rttvar 2ms --loss 0.0001";
