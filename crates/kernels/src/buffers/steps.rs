//! The steps in words: function, formula, input and output.

use super::Host;
use slowpath_tcp::buffers::{AskedBuffer, ReceiveBuffer, SendBuffer};
use slowpath_tcp::choices::{
    BufferArithmetic, BufferMemory, FirstWindow, LeastReceiveBuffer, ReceiveTuning, WindowGrowth, WindowScale,
};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its result.
    pub name: &'static str,
    /// The kernel function, with its file, and since or until when.
    pub function: &'static str,
    /// Its formula, in numbers.
    pub formula: String,
    /// Its input; `None` if it uses no earlier step's output.
    pub from: Option<u64>,
    /// Its output.
    pub to: u64,
    /// Its unit.
    pub unit: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Receive,
    Send,
}

impl Host {
    /// The steps of a receive buffer.
    pub fn receive_steps(&self, asked: Option<i64>) -> Vec<Step> {
        let buffer = self.receive(asked);
        let mut steps = self.asked_steps(asked, buffer.asked, Direction::Receive, buffer.first);
        steps.push(self.getsockopt_step(buffer.first, buffer.getsockopt));
        steps.push(self.window_step("window of the buffer", buffer.first, buffer.first_space, 0, &buffer));
        steps.extend(self.opening_steps(&buffer));
        steps.extend(self.growing_steps(&buffer));
        steps
    }

    /// The steps of a send buffer.
    pub fn send_steps(&self, asked: Option<i64>) -> Vec<Step> {
        let buffer = self.send(asked);
        let mut steps = self.asked_steps(asked, buffer.asked, Direction::Send, buffer.first);
        steps.push(self.getsockopt_step(buffer.first, buffer.getsockopt));
        if let Some(windows) = buffer.windows {
            let most = self.settings.sysctls.tcp_wmem.max;
            steps.push(Step {
                name: "largest buffer",
                function: "tcp_sndbuf_expand, net/ipv4/tcp_input.c (tcp_new_space until 3.12)",
                formula: format!("room for {windows} congestion windows, at most tcp_wmem[2] = {most}"),
                from: Some(buffer.first.into()),
                to: buffer.most.into(),
                unit: "B",
            });
        }
        steps.extend(Self::flight_steps(&buffer));
        steps
    }

    fn asked_steps(
        &self,
        value: Option<i64>,
        asked: Option<AskedBuffer>,
        direction: Direction,
        first: u32,
    ) -> Vec<Step> {
        let sysctls = &self.settings.sysctls;
        let (of, most, sizes, least) = match direction {
            Direction::Receive => ("r", sysctls.rmem_max, sysctls.tcp_rmem, 0),
            Direction::Send => ("w", sysctls.wmem_max, sysctls.tcp_wmem, 1),
        };
        let Some((asked, value)) = asked.zip(value) else {
            let largest = direction == Direction::Receive
                && self.settings.choices.receive_tuning == ReceiveTuning::Largest;
            let at = if largest { 2 } else { 1 };
            return vec![Step {
                name: "initial buffer",
                function: "tcp_init_sock, net/ipv4/tcp.c (tcp_v4_init_sock until 3.3)",
                formula: format!(
                    "tcp_{of}mem[{at}] of tcp_{of}mem = {} {} {}",
                    sizes.min, sizes.default, sizes.max
                ),
                from: None,
                to: first.into(),
                unit: "B",
            }];
        };
        let least = self.settings.choices.buffer_memory.least_buffers()[least];
        let floor = ["SOCK_MIN_RCVBUF", "SOCK_MIN_SNDBUF"][usize::from(direction == Direction::Send)];
        // As the kernel interprets a negative int.
        let value = u64::from(value as u32);
        vec![
            Step {
                name: "requested, bounded",
                function: "sk_setsockopt, net/core/sock.c (sock_setsockopt until 6.0)",
                formula: format!("min(asked, net.core.{of}mem_max = {most})"),
                from: Some(value),
                to: asked.bounded.into(),
                unit: "B",
            },
            Step {
                name: "buffer",
                function: "the same: __sock_set_rcvbuf and SO_SNDBUF",
                formula: format!("max(2 × {}, {floor} = {least})", asked.bounded),
                from: Some(asked.bounded.into()),
                to: asked.kept.into(),
                unit: "B",
            },
        ]
    }

    fn getsockopt_step(&self, from: u32, value: i64) -> Step {
        Step {
            name: "getsockopt returns",
            function: "sk_getsockopt, net/core/sock.c (sock_getsockopt until 6.0)",
            formula: "the buffer as it is kept".to_owned(),
            from: Some(from.into()),
            to: value.unsigned_abs(),
            unit: "B",
        }
    }

    /// The window of a buffer: `at` selects the ratio before or after it was measured.
    fn window_step(&self, name: &'static str, from: u32, to: u32, at: usize, buffer: &ReceiveBuffer) -> Step {
        let (function, formula) = match self.settings.choices.buffer_arithmetic {
            BufferArithmetic::ScalingRatio => {
                let ratio = buffer.ratio.map_or(0, |ratios| ratios[at]);
                (
                    "tcp_win_from_space, include/net/tcp.h (scaling_ratio, since 6.6)",
                    format!("{from} × scaling_ratio {ratio} / 256"),
                )
            }
            BufferArithmetic::AdvertisedScale(scale) if scale > 0 => (
                "tcp_win_from_space, include/net/tcp.h (tcp_adv_win_scale, until 6.5; ubik IV-B)",
                format!("{from} − {from} / 2^{scale}"),
            ),
            BufferArithmetic::AdvertisedScale(scale) => (
                "tcp_win_from_space, include/net/tcp.h (tcp_adv_win_scale, until 6.5; ubik IV-B)",
                format!("{from} / 2^{}", scale.unsigned_abs()),
            ),
        };
        Step { name, function, formula, from: Some(from.into()), to: to.into(), unit: "B" }
    }

    /// SYN and handshake.
    fn opening_steps(&self, buffer: &ReceiveBuffer) -> Vec<Step> {
        let choices = &self.settings.choices;
        let mut steps = Vec::new();
        if let Some((reached, shift)) = buffer.scale {
            let of = match choices.window_scale {
                WindowScale::FirstBuffer => "this buffer's window (until 2.6.7)",
                WindowScale::LargestBuffer => {
                    "the largest of window, tcp_rmem[2] and rmem_max, within the clamp"
                }
            };
            steps.push(Step {
                name: "window scale in the SYN",
                function: "tcp_select_initial_window, net/ipv4/tcp_output.c",
                formula: format!("least shift with {reached} >> shift <= 65535; for {of}"),
                from: Some(reached.into()),
                to: shift.into(),
                unit: "shift",
            });
        }
        let first = match choices.first_window {
            FirstWindow::Whole => "all of it, in whole segments, in a field without a scale",
            FirstWindow::Signed => "all of it, in whole segments, at most 32767 (MAX_TCP_WINDOW)",
            FirstWindow::Rfc2414 => "two to four segments, by the MSS (RFC 2414)",
            FirstWindow::TwentySegments => "at most twenty segments of 1460, in whole segments",
            FirstWindow::Field => "all of it, in whole segments, at most 65535",
        };
        steps.push(Step {
            name: "window in the SYN",
            function: "tcp_select_initial_window, net/ipv4/tcp_output.c",
            formula: first.to_owned(),
            from: Some(buffer.first_space.into()),
            to: buffer.syn_window.min(65_535).into(),
            unit: "B",
        });
        if buffer.made != buffer.first {
            steps.push(Step {
                name: "buffer, connected",
                function: "tcp_fixup_rcvbuf, net/ipv4/tcp_input.c (until 4.19)",
                formula: match choices.least_receive_buffer {
                    LeastReceiveBuffer::TwentySegments => {
                        "2 × memory of twenty segments, × 4 if the buffer is tuned, at least".to_owned()
                    }
                    _ => "room for four segments at least".to_owned(),
                },
                from: Some(buffer.first.into()),
                to: buffer.made.into(),
                unit: "B",
            });
        }
        steps.push(Step {
            name: "clamp, connected",
            function: "tcp_init_buffer_space, net/ipv4/tcp_input.c",
            formula: format!(
                "the window less window / 2^tcp_app_win ({}), and less a segment of {}",
                self.settings.sysctls.tcp_app_win, buffer.payload
            ),
            from: Some(buffer.first_space.into()),
            to: buffer.made_clamp.into(),
            unit: "B",
        });
        let shift = buffer.scale.map_or(0, |(_, shift)| shift);
        steps.push(Step {
            name: "first advertised window",
            function: "tcp_select_window, net/ipv4/tcp_output.c",
            formula: format!("what was promised before, or more, in units of {}", 1_u32 << shift),
            from: Some(buffer.syn_window.min(65_535).into()),
            to: buffer.first_window.into(),
            unit: "B",
        });
        steps
    }

    /// Growth by arriving segments.
    fn growing_steps(&self, buffer: &ReceiveBuffer) -> Vec<Step> {
        let choices = &self.settings.choices;
        let mut steps = vec![Step {
            name: "memory of a segment",
            function: match choices.buffer_memory {
                BufferMemory::AsAsked => "alloc_skb, net/core/skbuff.c (truesize until 3.2)",
                BufferMemory::AsAllocated => "SKB_TRUESIZE, include/linux/skbuff.h (since 3.2)",
            },
            formula: format!("{} bytes of payload: {}", buffer.payload, self.takes),
            from: Some(buffer.payload.into()),
            to: buffer.truesize.into(),
            unit: "B",
        }];
        if let Some([_, ratio]) = buffer.ratio {
            steps.push(Step {
                name: "scaling_ratio, measured",
                function: "tcp_measure_rcv_mss, net/ipv4/tcp_input.c (since 6.6)",
                formula: format!("{} × 256 / {}", buffer.payload, buffer.truesize),
                from: Some(buffer.truesize.into()),
                to: ratio.into(),
                unit: "of 256",
            });
        }
        if let Some(step) = self.tuning_step(buffer) {
            steps.push(step);
        }
        let same = buffer.most == buffer.first && buffer.most_space == buffer.first_space;
        if !same {
            steps.push(self.window_step("its window", buffer.most, buffer.most_space, 1, buffer));
        }
        let shift = buffer.scale.map_or(0, |(_, shift)| shift);
        let grows = match choices.window_growth {
            WindowGrowth::AtOnce => "all of it with the first ACK".to_owned(),
            WindowGrowth::WithArrivals => {
                format!("after {} segments that a reader takes at once", buffer.segments)
            }
            WindowGrowth::TwiceReceived => "twice what came in an RTT".to_owned(),
        };
        steps.push(Step {
            name: "largest advertised window",
            function: "tcp_grow_window and tcp_select_window, net/ipv4/tcp_input.c and tcp_output.c",
            formula: format!(
                "min(clamp {}, 65535 << {shift}), in units of {}; {grows}",
                buffer.most_clamp,
                1_u32 << shift
            ),
            from: Some(buffer.most_space.into()),
            to: buffer.most_window.into(),
            unit: "B",
        });
        steps.push(Step {
            name: "payload that fits",
            function: "tcp_try_rmem_schedule, net/ipv4/tcp_input.c",
            formula: format!("{} / {} segments of {}", buffer.most, buffer.truesize, buffer.payload),
            from: Some(buffer.most.into()),
            to: buffer.holds,
            unit: "B",
        });
        steps
    }

    fn tuning_step(&self, buffer: &ReceiveBuffer) -> Option<Step> {
        if buffer.asked.is_some() || buffer.most == buffer.made {
            return None;
        }
        let (function, most) = match self.settings.choices.receive_tuning {
            ReceiveTuning::SenderWindow => {
                ("Dynamic Right-Sizing, LANL's patch for 2.4", "net.core.rmem_max")
            }
            ReceiveTuning::RightSizing => {
                ("tcp_rcv_space_adjust, net/ipv4/tcp_input.c (2.6.7 to 3.12)", "tcp_rmem[2]")
            }
            ReceiveTuning::RightSizingAhead => {
                ("tcp_rcv_space_adjust, net/ipv4/tcp_input.c (3.13 to 6.15)", "tcp_rmem[2]")
            }
            _ => ("tcp_rcvbuf_grow, net/ipv4/tcp_input.c (since 6.16)", "tcp_rmem[2]"),
        };
        Some(Step {
            name: "largest buffer",
            function,
            formula: format!("as the sender asks for it, at most {most} = {}", buffer.most),
            from: Some(buffer.made.into()),
            to: buffer.most.into(),
            unit: "B",
        })
    }

    fn flight_steps(buffer: &SendBuffer) -> Vec<Step> {
        let mut steps = vec![
            Step {
                name: "memory of a segment",
                function: "tcp_stream_alloc_skb, net/ipv4/tcp.c (sk_wmem_queued_add)",
                formula: format!(
                    "{} bytes of payload and {} for its head",
                    buffer.payload,
                    buffer.truesize - buffer.payload
                ),
                from: Some(buffer.payload.into()),
                to: buffer.truesize.into(),
                unit: "B",
            },
            Step {
                name: "most in flight",
                function: "sk_stream_memory_free, include/net/sock.h",
                formula: format!(
                    "{} segments of {}, until {} are not less than the buffer",
                    buffer.buffers,
                    buffer.payload,
                    u64::from(buffer.buffers) * u64::from(buffer.truesize)
                ),
                from: Some(buffer.most.into()),
                to: buffer.holds,
                unit: "B",
            },
        ];
        if let Some([goal, holds]) = buffer.super_packet {
            steps.push(Step {
                name: "in super-packets",
                function: "tcp_sendmsg_locked, net/ipv4/tcp.c (tcp_send_mss, size_goal)",
                formula: format!("one head for {goal} bytes, as long as they stay whole"),
                from: Some(buffer.most.into()),
                to: holds,
                unit: "B",
            });
        }
        steps
    }
}
