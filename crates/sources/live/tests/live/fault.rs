//! Memory that is missing until a test provides it (userfaultfd(2)): a process that reads into it stalls in the kernel,
//! with its socket locked, for as long as the test wants.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const PAGE: usize = 4096;

/// One page.
pub struct Missing {
    address: usize,
    faults: OwnedFd,
}

/// `struct uffdio_api`, `_register` and `_zeropage` of include/uapi/linux/userfaultfd.h, as numbers.
const API: (libc::Ioctl, [u64; 3]) = (0xc018_aa3f_u32 as libc::Ioctl, [0xaa, 0, 0]);
const REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;
const MODE_MISSING: u64 = 1;
const ZEROPAGE: libc::Ioctl = 0xc020_aa04_u32 as libc::Ioctl;

impl Missing {
    pub fn page() -> Self {
        // SAFETY: no pointers are passed; the result is checked before it is owned.
        let raw = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
        assert!(raw >= 0, "{}", io::Error::last_os_error());
        // SAFETY: the descriptor was just made and nobody else owns it.
        let faults = unsafe { OwnedFd::from_raw_fd(raw as i32) };
        // SAFETY: memory of its own, which nobody else knows.
        let address = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert_ne!(address, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        let page = Self { address: address as usize, faults };
        page.control(API.0, API.1);
        page.control(REGISTER, [page.address as u64, PAGE as u64, MODE_MISSING, 0]);
        page
    }

    fn control<const N: usize>(&self, request: libc::Ioctl, mut with: [u64; N]) {
        // SAFETY: the numbers are live, and as many as the request's own size says.
        let result = unsafe { libc::ioctl(self.faults.as_raw_fd(), request, with.as_mut_ptr()) };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
    }

    /// Receives into it; the data is there afterwards.
    pub fn receive(&self, socket: &impl AsRawFd) -> usize {
        // SAFETY: the page is mapped for as long as the test runs, and read by nobody.
        let received = unsafe { libc::recv(socket.as_raw_fd(), self.address as *mut _, PAGE, 0) };
        usize::try_from(received).unwrap_or_else(|_| panic!("{}", io::Error::last_os_error()))
    }

    /// Waits until somebody stalls on it.
    pub fn is_wanted(&self) {
        // `struct uffd_msg`.
        let mut message = [0_u64; 4];
        // SAFETY: the buffer is live for the size that is passed.
        let read = unsafe { libc::read(self.faults.as_raw_fd(), message.as_mut_ptr().cast(), 32) };
        assert_eq!(read, 32, "{}", io::Error::last_os_error());
    }

    /// Provides it.
    pub fn give(&self) {
        self.control(ZEROPAGE, [self.address as u64, PAGE as u64, 0, 0]);
    }
}
