//! The windowed extreme value (lib/win_minmax.c, 6.18): the best three samples, each from a part of a time window.

/// The largest value in a window; the caller chooses the unit of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunningMax {
    /// Time and value.
    samples: [Option<(i64, i64)>; 3],
}

impl RunningMax {
    /// The largest value; `None` before the first.
    pub fn get(&self) -> Option<i64> {
        self.samples[0].map(|(_, value)| value)
    }

    /// `minmax_running_max`.
    pub fn update(&mut self, now: i64, window: i64, value: i64) {
        let new = Some((now, value));
        let older = |sample: Option<(i64, i64)>| sample.is_none_or(|(at, _)| now - at > window);
        let not_below = |sample: Option<(i64, i64)>| sample.is_none_or(|(_, most)| value >= most);
        if not_below(self.samples[0]) || older(self.samples[2]) {
            self.samples = [new; 3];
            return;
        }
        if not_below(self.samples[1]) {
            self.samples[2] = new;
            self.samples[1] = new;
        } else if not_below(self.samples[2]) {
            self.samples[2] = new;
        }
        self.retire(now, window, new);
    }

    /// The best sample has left the window, or the second and third choices are as old as the first
    /// (`minmax_subwin_update`).
    fn retire(&mut self, now: i64, window: i64, new: Option<(i64, i64)>) {
        let [Some((first, _)), Some((second, _)), Some((third, _))] = self.samples else { return };
        if now - first > window {
            self.samples = [self.samples[1], self.samples[2], new];
            if self.samples[0].is_some_and(|(at, _)| now - at > window) {
                self.samples = [self.samples[1], self.samples[2], new];
            }
        } else if second == first && now - first > window / 4 {
            self.samples[1] = new;
            self.samples[2] = new;
        } else if third == second && now - first > window / 2 {
            self.samples[2] = new;
        }
    }
}
