//! A reader that occasionally receives into memory that is not present, like that of a swapped-out process.
//!
//! `recv` copies with the socket locked. Until the page arrives, the reader waits inside the kernel, and arriving
//! packets wait on the socket's backlog, unacknowledged (`tcp_add_backlog`): what Wu and Crawford saw when a reader
//! lost its CPU there. userfaultfd(2) keeps a page away for any length of time.
//! reader lost its CPU there. userfaultfd(2) makes a page stay away for as long as one likes.

use super::end::{End, Surroundings, check_deadline, poll};
use crate::clock;
use crate::error::LabError;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

const PAGE_BYTES: usize = 4096;

// include/uapi/linux/userfaultfd.h
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
const UFFDIO_REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;
const UFFDIO_ZEROPAGE: libc::Ioctl = 0xc020_aa04_u32 as libc::Ioctl;
const UFFDIO_REGISTER_MODE_MISSING: u64 = 1;
const UFFD_MSG_BYTES: usize = 32;

/// `struct uffdio_register` and `struct uffdio_zeropage`: a range, the request, and the answer.
#[repr(C)]
struct OfRange {
    start: u64,
    bytes: u64,
    mode: u64,
    answer: u64,
}

/// A page of memory that can be taken away.
struct Page {
    faults: OwnedFd,
    at: *mut libc::c_void,
}

// SAFETY: the address is only passed to system calls, which any thread may make.
unsafe impl Sync for Page {}

impl Page {
    fn new() -> Result<Self, LabError> {
        // SAFETY: no pointers are passed; the result is checked before it is owned.
        let raw = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
        let faults = match i32::try_from(raw) {
            // SAFETY: the descriptor was just made and nobody else owns it.
            Ok(fd) if fd >= 0 => unsafe { OwnedFd::from_raw_fd(fd) },
            _ => return Err(LabError::last_os("open a userfaultfd")),
        };
        let mut api = [UFFD_API, 0, 0];
        // SAFETY: the request fills the live three words (struct uffdio_api).
        if unsafe { libc::ioctl(faults.as_raw_fd(), UFFDIO_API, api.as_mut_ptr()) } != 0 {
            return Err(LabError::last_os("agree on userfaultfd's interface"));
        }
        // SAFETY: a fresh private mapping touches no memory of the program.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(LabError::last_os("map a page"));
        }
        let page = Self { faults, at };
        page.ask(UFFDIO_REGISTER, UFFDIO_REGISTER_MODE_MISSING, "register a page")?;
        Ok(page)
    }

    fn ask(&self, request: libc::Ioctl, mode: u64, doing: &str) -> Result<(), LabError> {
        let mut range = OfRange { start: self.at as u64, bytes: PAGE_BYTES as u64, mode, answer: 0 };
        // SAFETY: the struct is live and has the layout of both requests.
        let result = unsafe { libc::ioctl(self.faults.as_raw_fd(), request, &raw mut range) };
        if result == 0 { Ok(()) } else { Err(LabError::last_os(doing)) }
    }

    fn take_away(&self) -> Result<(), LabError> {
        // SAFETY: the page is this struct's own mapping, and nothing of value is in it.
        let result = unsafe { libc::madvise(self.at, PAGE_BYTES, libc::MADV_DONTNEED) };
        if result == 0 { Ok(()) } else { Err(LabError::last_os("take a page away")) }
    }

    /// Waits until somebody needs the page, and provides it `for_ns` later; gives up when `over`.
    fn bring_after(&self, for_ns: u64, over: &AtomicBool) -> Result<(), LabError> {
        let mut message = [0_u8; UFFD_MSG_BYTES];
        while !over.load(Ordering::Relaxed) {
            // SAFETY: the buffer is live and its true size is passed with it.
            let read =
                unsafe { libc::read(self.faults.as_raw_fd(), message.as_mut_ptr().cast(), UFFD_MSG_BYTES) };
            if read == UFFD_MSG_BYTES.cast_signed() {
                clock::sleep_until_monotonic(clock::monotonic_ns() + for_ns);
                return self.ask(UFFDIO_ZEROPAGE, 0, "bring a page");
            }
            clock::sleep_until_monotonic(clock::monotonic_ns() + 100_000);
        }
        Ok(())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping is this struct's own, and no reference into it exists.
        unsafe { libc::munmap(self.at, PAGE_BYTES) };
    }
}

impl End {
    /// Reads everything at once until the end of file, see [`super::Reader::Faulting`].
    pub(super) fn read_faulting(
        &mut self,
        every_ns: u64,
        for_ns: u64,
        around: Surroundings,
    ) -> Result<(), LabError> {
        let page = Page::new()?;
        let mut buffer = self.read_buffer();
        let mut next_ns = clock::monotonic_ns() + every_ns;
        loop {
            check_deadline(around, "the end of the stream")?;
            poll(&self.socket, libc::POLLIN, around.deadline_ns.min(next_ns));
            if clock::monotonic_ns() >= next_ns {
                poll(&self.socket, libc::POLLIN, around.deadline_ns);
                self.read_into(&page, for_ns)?;
                next_ns += every_ns;
            }
            if self.read_now(buffer.len() as u64, &mut buffer)?.is_none() {
                break;
            }
        }
        self.record.read_ended_ns = Some(clock::realtime_ns());
        Ok(())
    }

    /// Receives a page of data into a page of memory that is missing for a while.
    fn read_into(&mut self, page: &Page, for_ns: u64) -> Result<(), LabError> {
        page.take_away()?;
        let over = AtomicBool::new(false);
        let from_ns = clock::realtime_ns();
        let (taken, brought) = std::thread::scope(|scope| {
            let bringer = scope.spawn(|| page.bring_after(for_ns, &over));
            // SAFETY: the page is mapped, of the stated size, and nothing else refers to it.
            let taken = unsafe { libc::recv(self.socket.as_raw_fd(), page.at, PAGE_BYTES, 0) };
            over.store(true, Ordering::Relaxed);
            (taken, bringer.join().unwrap_or(Err(LabError::Panicked { role: "brings pages" })))
        });
        brought?;
        if let Ok(bytes) = u64::try_from(taken)
            && bytes > 0
        {
            self.record.read_bytes += bytes;
            self.record.stops_ns.push((from_ns, clock::realtime_ns()));
        }
        Ok(())
    }
}
