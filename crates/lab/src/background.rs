//! A background thread that runs until it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The thread. Dropping this value also asks it to stop.
#[derive(Debug)]
pub struct Background<T> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts the thread; `work` checks its argument, and returns soon after that is set.
    pub fn start(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        Self { stop, thread: Some(thread::spawn(move || work(&until))) }
    }
}

impl<T> Background<T> {
    /// Asks it to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Asks it to stop and waits until it has; `None` if it panicked.
    pub fn finish(mut self) -> Option<T> {
        self.stop();
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn until_stopped(stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }

    #[test]
    fn thread_ends_on_finish_and_on_drop() {
        let seven = Background::start(|stop| {
            until_stopped(stop);
            7
        });
        assert_eq!(seven.finish(), Some(7));
        let (tell, told) = mpsc::channel();
        drop(Background::start(move |stop| {
            until_stopped(stop);
            tell.send(()).is_ok()
        }));
        told.recv().expect("it ends");
    }
}
