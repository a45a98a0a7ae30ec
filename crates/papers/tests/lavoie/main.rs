//! lavoie on hand-written profiles: shares and claims.

mod enhancements;
mod layers;
mod misses;

use slowpath_cost::functions::{Function, Image};
use slowpath_cost::profile::{Entry, Event, Frame};
use slowpath_cost::{Operation, Profile, Share};
use slowpath_papers::lavoie::{
    self, Counters, Owner, Run, Server, ServerCase, ServerSamples, Side, Workload,
};

/// Folded stacks, the outermost function first: their counts and tasks. Names in brackets belong to a program.
fn profile(stacks: &[(u64, &str, &str)]) -> Profile {
    let mut profile = Profile {
        events: vec![Event { name: "cpu-clock".to_owned(), unit: "ns" }],
        tasks: vec!["nginx".to_owned(), "other".to_owned()],
        ..Profile::default()
    };
    for (samples, task, text) in stacks {
        let frames: Vec<Function> = text
            .split(';')
            .rev()
            .map(|name| match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                Some(name) => profile.functions.of(name, &Image::User("nginx".to_owned())),
                None => profile.functions.of(name, &Image::Kernel(None)),
            })
            .collect();
        let frames = frames.into_iter().map(|function| Frame { function, inlined: false });
        let stack = profile.stacks.push(frames, false);
        let task = u32::from(*task == "other");
        profile.entries.push(Entry { stack, event: 0, task, samples: *samples, weight: *samples * 1000 });
    }
    profile
}

const SOFTIRQ: &str =
    "asm_sysvec_call_function_single;sysvec_call_function_single;__irq_exit_rcu;handle_softirqs";
const SEND: &str = "[main];entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendfile64;splice_to_socket;sock_sendmsg;\
                    tcp_sendmsg;tcp_sendmsg_locked";
const WRITE: &str =
    "[main];entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_writev;tcp_sendmsg;tcp_sendmsg_locked";
const DOWN: &str = "tcp_write_xmit;__tcp_transmit_skb;__ip_queue_xmit;ip_output";

fn measured(stacks: &[(u64, &str, &str)]) -> ServerSamples {
    ServerSamples::of(&profile(stacks), "nginx")
}

fn share(part: u64, of: u64) -> Share {
    Share { part, of }
}

#[test]
fn sample_belongs_to_the_innermost_high_level_function() {
    let receive = format!("{SOFTIRQ};net_rx_action;process_backlog;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv");
    let of = |text: String| {
        let measured = measured(&[(1, "nginx", &text)]);
        Owner::ALL.into_iter().find(|owner| measured.owned(*owner) == share(1, 1)).expect("somebody's")
    };
    assert_eq!(of(format!("{receive};tcp_ack")), Owner::Receive);
    // Below the interrupted function, but not for it.
    assert_eq!(of(format!("{SEND};{receive};kfree")), Owner::Receive);
    assert_eq!(of(format!("{SEND};{SOFTIRQ};net_rx_action;ip_rcv")), Owner::Interrupt);
    assert_eq!(
        of(format!("{WRITE};__local_bh_enable_ip;do_softirq;handle_softirqs;net_rx_action")),
        Owner::Interrupt
    );
    // Sendfile's pages go through tcp_sendmsg since 6.5; in 2.6 they had their own function.
    assert_eq!(of(format!("{SEND};{DOWN}")), Owner::Pages);
    assert_eq!(of("[main];sys_sendfile;do_tcp_sendpages;alloc_skb".to_owned()), Owner::Pages);
    assert_eq!(of(format!("{WRITE};{DOWN}")), Owner::Message);
    assert_eq!(of(format!("{SOFTIRQ};tcp_sendmsg;kfree")), Owner::Message);
    // Packets that arrived meanwhile are processed when the lock is released.
    assert_eq!(of(format!("{SEND};release_sock;__release_sock;tcp_v4_do_rcv;tcp_ack")), Owner::Receive);
    assert_eq!(of("[main];do_syscall_64;do_epoll_wait".to_owned()), Owner::Nobody);
}

#[test]
fn parts_sum_to_the_whole_and_operations_count_once_per_stack() {
    let receive = format!("{SOFTIRQ};net_rx_action;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established");
    let measured = measured(&[
        (10, "nginx", &format!("{receive};tcp_ack;__kfree_skb;skb_release_data;kfree")),
        (20, "nginx", &format!("{receive};__tcp_ack_snd_check;__tcp_send_ack;__tcp_transmit_skb;ip_output")),
        (30, "nginx", &format!("{SEND};{DOWN}")),
        (40, "nginx", &format!("{WRITE};{DOWN};ip_finish_output2")),
    ]);
    assert_eq!(measured.total, 100);
    let owned: u64 = Owner::ALL.map(|owner| measured.owned(owner).part).iter().sum();
    assert_eq!(owned, 100);
    assert_eq!(measured.owned(Owner::Receive), share(30, 100));
    // ip_output and ip_finish_output2 are one operation.
    assert_eq!(
        (measured.own("IP output"), measured.with_callees("IP output")),
        (share(90, 100), share(90, 100))
    );
    assert_eq!(measured.attributed("IP output", Owner::Message), share(40, 90));
    assert_eq!(measured.attributed("IP output", Owner::Pages), share(30, 90));
    assert_eq!(measured.acks(), share(20, 90));
    assert_eq!(measured.attributed("sk buffer free", Owner::Receive), share(10, 10));
    assert_eq!(measured.rank("IP output"), Some(1));
    assert_eq!(measured.rank("kernel memory deallocation"), Some(3));
    assert_eq!(measured.rank("sk buffer clone"), None);
}

/// `__tcp_send_ack` jumps into `__tcp_transmit_skb`: it is not on the stack, but its caller is.
#[test]
fn ack_is_identified_by_its_caller() {
    let receive = format!("{SOFTIRQ};net_rx_action;tcp_v4_rcv;tcp_v4_do_rcv");
    let measured = measured(&[
        (1, "nginx", &format!("{receive};__tcp_transmit_skb;__ip_queue_xmit;ip_output")),
        (2, "nginx", &format!("{receive};tcp_rcv_established;__tcp_transmit_skb;__ip_queue_xmit;ip_output")),
        (4, "nginx", &format!("{receive};__tcp_send_ack.part.0;__tcp_transmit_skb")),
        (8, "nginx", &format!("{receive};tcp_rcv_established;__tcp_push_pending_frames;{DOWN}")),
        // In TIME_WAIT there is no socket to transmit with.
        (
            16,
            "nginx",
            &format!("{SOFTIRQ};net_rx_action;tcp_v4_rcv;tcp_v4_send_ack;ip_send_unicast_reply;ip_output"),
        ),
        // An ACK's output interrupts what sends data.
        (32, "nginx", &format!("{SEND};{DOWN};{receive};__tcp_transmit_skb;ip_output")),
        (64, "nginx", &format!("{receive};__tcp_transmit_skb;{SOFTIRQ};tcp_v4_rcv;tcp_ack;{DOWN}")),
        // An interrupt or a softirq on top of sending is not part of its cost.
        (
            128,
            "nginx",
            &format!("{SEND};{DOWN};__local_bh_enable_ip;do_softirq;handle_softirqs;net_rx_action;kfree"),
        ),
    ]);
    assert_eq!(measured.with_callees("TCP transmit sk buffer").part, 1 + 2 + 4 + 8 + 32 + 64);
    assert_eq!(measured.attributed("kernel memory deallocation", Owner::Interrupt), share(128, 128));
    assert_eq!(measured.acks(), share(1 + 2 + 4 + 32, 1 + 2 + 4 + 8 + 32 + 64));
    assert_eq!(measured.acks_of_output(), share(1 + 2 + 16 + 32, 1 + 2 + 8 + 16 + 32 + 64));
}

#[test]
fn other_samples_are_excluded_and_reported() {
    let measured = measured(&[
        (1, "other", "do_idle;cpu_startup_entry;pv_native_safe_halt"),
        (2, "other", "[main]"),
        (4, "other", &format!("[main];{SOFTIRQ};net_rx_action;tcp_v4_rcv")),
        (8, "other", &format!("[main];{SOFTIRQ};net_rx_action;skb_defer_free_flush;kfree")),
        (16, "nginx", &format!("{SOFTIRQ};net_rx_action;ip_rcv;ip_rcv_core;tcp_wfree")),
        (32, "nginx", &format!("[main];{SOFTIRQ}")),
        (64, "nginx", &format!("{SOFTIRQ};net_rx_action;net_rps_send_ipi;native_write_msr")),
        (128, "nginx", "[main]"),
    ]);
    let excluded = measured.excluded;
    assert_eq!((excluded.idle, excluded.others, excluded.clients), (1, 2, 8 + 16));
    assert_eq!((measured.total, measured.steering, measured.bare()), (4 + 32 + 64 + 128, 32 + 64, 4 + 128));
    assert_eq!(measured.irqs_on_again, 32);
    assert_eq!(measured.functions[0], ("main (nginx)".to_owned(), 128));
}

const PLAIN: ServerCase = ServerCase {
    workload: Workload::File(1),
    requests: 1,
    sendfile: true,
    tso: false,
    server: Server::Nginx,
};

fn of_size(file_kib: u32) -> ServerCase {
    ServerCase { workload: Workload::File(file_kib), ..PLAIN }
}

fn report(profiles: &[(ServerCase, Profile)]) -> slowpath_papers::Report {
    counted(profiles, Counters::default())
}

/// A report of cases with these counters, of which some are the same in all tests.
fn counted(profiles: &[(ServerCase, Profile)], counters: Counters) -> slowpath_papers::Report {
    let counters = Counters { seconds: 2.0, requests: 1000, stolen: 0.25, ..counters };
    let runs: Vec<Run<'_>> = profiles
        .iter()
        .map(|(case, profile)| Run { case: *case, counters: counters.clone(), profile, server: "nginx" })
        .collect();
    lavoie::report(&runs, vec!["by hand".to_owned()], |case| format!("run {case}"))
}

/// Profiles of a server that agrees with the paper if `is_so`, and contradicts it otherwise.
fn of_sizes(is_so: bool) -> Vec<(ServerCase, Profile)> {
    let receive = format!("{SOFTIRQ};net_rx_action;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established");
    let (many, few) = if is_so { (9600, 400) } else { (400, 9600) };
    let pushed = "__tcp_push_pending_frames;tcp_write_xmit;__tcp_transmit_skb";
    [1, 8, 64]
        .map(|file_kib| {
            let stacks = [
                (many, "nginx", format!("{receive};{pushed}")),
                (few, "nginx", format!("{SEND};{pushed}")),
                (400, "nginx", format!("{receive};tcp_ack;__kfree_skb")),
            ];
            let stacks: Vec<_> =
                stacks.iter().map(|(samples, task, text)| (*samples, *task, &text[..])).collect();
            (of_size(file_kib), profile(&stacks))
        })
        .to_vec()
}

fn verdict<'a>(report: &'a slowpath_papers::Report, part: &str) -> (Option<bool>, &'a str) {
    let claim = report.claims.iter().find(|claim| claim.says.contains(part)).expect("a claim");
    (claim.holds, &claim.seen)
}

#[test]
fn claims_hold_no_longer_hold_or_are_undecided() {
    let so = report(&of_sizes(true));
    assert_eq!(verdict(&so, "96 % of TCP push pending frames").0, Some(true), "{so:?}");
    assert_eq!(verdict(&so, "dominates the cost").0, Some(true));
    assert_eq!(verdict(&so, "to free sk buffers is always").0, Some(true));
    // All of it is TCP.
    assert_eq!(verdict(&so, "about 30 %").0, Some(false));
    let not = report(&of_sizes(false));
    assert_eq!(verdict(&not, "96 % of TCP push pending frames").0, Some(false));
    assert_eq!(verdict(&not, "dominates the cost").0, Some(false));
    // No NIC, no persistent connections, no TSO: these are undecided.
    for part in ["Ethernet type", "handling interrupts", "polling takes more", "with TSO TCP costs less"] {
        assert_eq!(verdict(&so, part).0, None, "{part}");
    }
    assert!(verdict(&so, "polling takes more").1.contains("was not run"));
    let words: Vec<_> = so.claims.iter().map(|claim| so.verdict(claim)).collect();
    for word in ["still so", "no longer so", "cannot tell"] {
        assert!(words.contains(&word), "{word}");
    }
}

#[test]
fn claims_are_not_judged_from_a_cpu_that_was_idle() {
    let busy = counted(&of_sizes(true), Counters { idle: 0.049, ..Counters::default() });
    assert_eq!(verdict(&busy, "dominates the cost").0, Some(true));
    let idle = counted(&of_sizes(true), Counters { idle: 0.367, ..Counters::default() });
    assert!(idle.claims.iter().all(|claim| claim.holds.is_none()), "{:?}", idle.claims);
    assert!(verdict(&idle, "dominates the cost").1.contains("did not keep the CPU busy"));
    let says = "no claim is judged from 64K one sendfile no-TSO: the server's CPU was idle for 36.7 %";
    assert!(idle.measured_on.iter().any(|line| line == says), "{:?}", idle.measured_on);
}

/// Which of receiving and sending costs more for large files depends on how often the client acknowledges.
#[test]
fn receiving_is_compared_where_the_client_acknowledges_every_other_segment() {
    let with = |pure_acks_in| {
        let counters = Counters { segments_out: 1000, pure_acks_in, ..Counters::default() };
        counted(&of_sizes(true), counters)
    };
    assert_eq!(verdict(&with(500), "dominates the cost").0, Some(true));
    let few = with(150);
    assert_eq!(verdict(&few, "dominates the cost").0, None);
    assert!(verdict(&few, "dominates the cost").1.contains("with 0.15 ACKs per segment"));
}

#[test]
fn too_few_samples_leave_claims_undecided() {
    let receive = format!("{SOFTIRQ};tcp_v4_rcv;tcp_rcv_established;__tcp_push_pending_frames;kfree");
    let few = report(&[1, 8, 64].map(|file_kib| (of_size(file_kib), profile(&[(10, "nginx", &receive)]))));
    for part in
        ["96 % of TCP push pending frames", "dominates the cost", "about 30 %", "sk buffer clone costs more"]
    {
        assert_eq!(verdict(&few, part).0, None, "{part}");
    }
}

#[test]
fn tables_and_figures_cover_the_cases_run() {
    let report = report(&of_sizes(true));
    assert_eq!((report.paper, report.seeds), ("lavoie", 0));
    assert_eq!(report.measured_on[0], "by hand");
    let names: Vec<_> = report.tables.iter().map(|table| table.name).collect();
    assert!(names.contains(&"Figure 8") && !names.contains(&"Figure 11"), "{names:?}");
    let table = |name: &str| report.tables.iter().find(|table| table.name == name).expect("a table");
    // The owners' shares sum to the whole CPU, in each column.
    for column in ["1K", "8K", "64K"] {
        let parts = table("The whole").cells.iter().filter(|cell| cell.quantity == column);
        let sum: f64 = parts.map(|cell| cell.ours).sum();
        assert!((sum - 100.0).abs() < 1e-9, "{column}: {sum}");
    }
    let cell = |of: &str, row: &str, column: &str| {
        let found = table(of).cells.iter().find(|cell| cell.row == row && cell.quantity == column);
        found.expect("a cell").clone()
    };
    let pushed = cell("Figures 18 and 19", "TCP push pending frames", "to TCP receive");
    assert_eq!((pushed.published, pushed.ours), (Some(96.0), 96.0));
    assert!(pushed.least < 96.0 && 96.0 < pushed.most && pushed.most - pushed.least < 1.0, "{pushed:?}");
    // 2 s, of which a quarter was stolen, for 1000 requests: all samples are the server's.
    let cost = cell("The runs", "1K one sendfile no-TSO", "µs of CPU a request");
    assert!((cost.ours - 1500.0).abs() < 1e-9, "{cost:?}");
    assert_eq!(
        report.runs[0],
        ("1K one sendfile no-TSO".to_owned(), "run 1K one sendfile no-TSO".to_owned())
    );
    assert!(
        report.figures.iter().all(|figure| figure.series.iter().all(|series| series.x == [1.0, 8.0, 64.0]))
    );
    assert_eq!(report.figures.len(), 4, "none with TSO");
}

/// A server with everything: ACKs, queued data, the backlog, interrupts on top of sending, and both ways to send.
fn busy() -> Profile {
    let receive = format!("{SOFTIRQ};net_rx_action;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established");
    let push = "__tcp_push_pending_frames;tcp_write_xmit;__tcp_transmit_skb";
    profile(&[
        (100, "nginx", &format!("{receive};tcp_ack;__kfree_skb;skb_release_data;kfree")),
        (150, "nginx", &format!("{receive};__tcp_transmit_skb;__ip_queue_xmit;ip_output;ip_finish_output2")),
        (200, "nginx", &format!("{receive};tcp_ack;{push};skb_clone;kmem_cache_alloc_noprof")),
        (250, "nginx", &format!("{SEND};{push};skb_clone")),
        (300, "nginx", &format!("{SEND};{DOWN};{SOFTIRQ};net_rx_action;kfree")),
        (350, "nginx", &format!("{SEND};{push};__ip_queue_xmit;ip_output;{receive};tcp_ack")),
        (
            400,
            "nginx",
            &format!("{SEND};release_sock;__release_sock;tcp_v4_do_rcv;tcp_rcv_established;kfree"),
        ),
        (450, "nginx", &format!("{WRITE};{DOWN};ip_finish_output2;__dev_queue_xmit")),
        (500, "nginx", &format!("{WRITE};__alloc_skb;kmem_cache_alloc_node_noprof")),
        (550, "nginx", "[main];do_syscall_64;do_epoll_wait;tcp_poll"),
        (600, "other", "[main];kfree"),
    ])
}

fn busy_report() -> slowpath_papers::Report {
    report(&[1, 8, 64].map(|file_kib| (of_size(file_kib), busy())))
}

#[test]
fn graph_boxes_agree_with_the_tables() {
    let (report, measured) = (busy_report(), ServerSamples::of(&busy(), "nginx"));
    let (receive, pages) = ((Owner::Receive, "to TCP receive"), (Owner::Pages, "to TCP send pages"));
    let of = [receive, (Owner::Message, "to TCP send message"), receive, pages, receive, pages];
    let names: Vec<_> = report.graphs.iter().map(|graph| graph.name).collect();
    assert_eq!(names, [14, 15, 16, 17, 18, 19].map(|number| format!("Figure {number}")));
    let mut compared = 0;
    for (graph, (owner, column)) in report.graphs.iter().zip(of) {
        assert!(column.ends_with(graph.root));
        let share = |part| share(part, graph.samples);
        // The samples of the top box are those in the table of the whole.
        assert_eq!(share(graph.nodes[0].here), measured.owned(owner), "{}", graph.name);
        if owner != Owner::Receive {
            // TCP receive includes the backlog, without being on that stack.
            assert_eq!(share(graph.nodes[0].all), measured.with_callees(graph.root), "{}", graph.name);
        }
        assert_eq!(graph.nodes.iter().map(|node| node.own_here).sum::<u64>(), graph.nodes[0].here);
        let table =
            report.tables.iter().find(|table| table.name.contains(&graph.name[7..])).expect("a table");
        for node in &graph.nodes[1..] {
            let Some(operation) = Operation::named(&node.name) else { continue };
            assert_eq!(share(node.own), measured.own(operation.name), "{}: {}", graph.name, node.name);
            assert_eq!(
                share(node.all),
                measured.with_callees(operation.name),
                "{}: {}",
                graph.name,
                node.name
            );
            let attributed = measured.attributed(operation.name, owner);
            assert_eq!(
                (node.here, node.all),
                (attributed.part, attributed.of),
                "{}: {}",
                graph.name,
                node.name
            );
            let cell =
                |quantity| table.cells.iter().find(|cell| cell.row == node.name && cell.quantity == quantity);
            let (Some(of_cpu), Some(of_it)) = (cell("of the CPU"), cell(column)) else { continue };
            let near = |cell: &slowpath_papers::Cell, part: u64, of: u64| {
                (cell.ours - 100.0 * part as f64 / of as f64).abs() < 1e-9
            };
            assert!(
                near(of_cpu, node.all, graph.samples) && near(of_it, node.here, node.all),
                "{}",
                node.name
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn graph_has_the_calls_for_its_root() {
    let report = busy_report();
    let graph = |name: &str| report.graphs.iter().find(|graph| graph.name == name).expect("a graph");
    let edge = |name: &str, from: &str, to: &str| {
        let graph = graph(name);
        let at = |name: &str| graph.nodes.iter().position(|node| node.name == name);
        let (from, to) = (at(from)?, at(to)?);
        graph
            .edges
            .iter()
            .find(|edge| (edge.from, edge.to) == (from, to))
            .map(|edge| (edge.samples, edge.direct))
    };
    // Segments of the backlog belong to TCP receive, which is not on that stack.
    assert_eq!(edge("Figure 14", "TCP receive", "TCP do receive"), Some((100 + 150 + 200 + 350 + 400, 800)));
    // An ACK is identified by its caller.
    assert_eq!(edge("Figure 14", "TCP receive established", "TCP send ACK"), Some((150, 150)));
    assert_eq!(edge("Figure 14", "TCP send ACK", "TCP transmit sk buffer"), Some((150, 150)));
    assert_eq!(edge("Figure 14", "lock sock", "TCP do receive"), None);
    // Sendfile's pages come through tcp_sendmsg. Interrupts on top of sending belong to nobody here.
    assert_eq!(edge("Figure 19", "TCP send message", "TCP push pending frames"), Some((250, 250)));
    assert_eq!(edge("Figure 19", "TCP send message", "lock sock"), Some((400, 400)));
    let has = |name: &str, function: &str| graph(name).nodes.iter().any(|node| node.name == function);
    assert!(
        !has("Figure 19", "kernel memory deallocation") && has("Figure 14", "kernel memory deallocation")
    );
    assert!(!has("Figure 15", "lock sock") && !has("Figure 15", "tcp_poll"));
    assert!(report.graphs.iter().all(|graph| graph.nodes.iter().all(|node| node.here >= graph.least)));
}

fn side<'a>(runs: &'a [Run<'a>], release: &'a str) -> Side<'a> {
    Side { runs, release, machine: Some("2 × CPU") }
}

/// A profile of each size in which these functions have these samples.
fn costs(functions: &[(u64, &str)]) -> Vec<(ServerCase, Profile)> {
    let stacks: Vec<(u64, &str, String)> =
        functions.iter().map(|(samples, name)| (*samples, "nginx", format!("{SOFTIRQ};{name}"))).collect();
    let stacks: Vec<_> = stacks.iter().map(|(samples, task, text)| (*samples, *task, &text[..])).collect();
    [1, 8, 64].map(|file_kib| (of_size(file_kib), profile(&stacks))).to_vec()
}

fn runs(profiles: &[(ServerCase, Profile)], requests: u64) -> Vec<Run<'_>> {
    let counters = Counters { seconds: 2.0, requests, ..Counters::default() };
    let run = |(case, profile)| Run { case, counters: counters.clone(), profile, server: "nginx" };
    profiles.iter().map(|(case, profile)| run((*case, profile))).collect()
}

fn put(before: &[Run<'_>], after: &[Run<'_>], releases: [&str; 2]) -> slowpath_papers::Report {
    let mut report = lavoie::report(after, Vec::new(), |case| format!("run {case}"));
    lavoie::add_comparison(&mut report, side(before, releases[0]), side(after, releases[1]));
    report
}

#[test]
fn two_kernels_are_compared_function_by_function() {
    let before =
        costs(&[(500, "tcp_transmit_skb"), (300, "tcp_v4_rcv"), (100, "__spin_lost"), (1100, "tcp_ack")]);
    let after =
        costs(&[(300, "__tcp_transmit_skb"), (600, "tcp_v4_rcv"), (100, "new_one"), (1000, "tcp_ack")]);
    let report = put(&runs(&before, 1000), &runs(&after, 2000), ["6.1.0-18-amd64", "6.18.44"]);
    let comparison = report.comparison.as_ref().expect("compared");
    assert_eq!(comparison.of, ["Linux 6.1.0-18-amd64", "Linux 6.18.44"]);
    assert_eq!(comparison.remarks, Vec::<String>::new());
    let names: Vec<_> = comparison.tables.iter().map(|table| table.name).collect();
    assert_eq!(names, ["Figure 20", "Figure 21", "Figure 22"]);
    let table = &comparison.tables[2];
    // 2 s of CPU for 1,000 requests, and for 2,000.
    assert_eq!((table.samples, table.us_a_request), ([2000, 2000], [Some(2000.0), Some(1000.0)]));
    assert_eq!(table.in_both_top_tens, 3);
    let of = |name: &str| table.functions.iter().find(|of| of.name == name).expect("a function");
    // Under its newest name.
    let transmit = of("__tcp_transmit_skb");
    assert_eq!((transmit.shares, transmit.places), ([Some(25.0), Some(15.0)], [Some(2), Some(3)]));
    let us = transmit.us_a_request.map(|us| us.expect("known"));
    assert!((us[0] - 500.0).abs() < 1e-9 && (us[1] - 150.0).abs() < 1e-9, "{us:?}");
    assert!(transmit.is_significant() && of("tcp_v4_rcv").is_significant());
    // 1,100 and 1,000 of 2,000: 0.2 % by Fisher's test for one function, at most 0.8 % for five.
    let chance = of("tcp_ack").by_chance.expect("tested");
    assert!((0.0005..0.005).contains(&chance), "{chance}");
    assert_eq!((of("new_one").places, of("__spin_lost").places), ([None, Some(4)], [Some(4), None]));
    let order: Vec<_> = table.functions.iter().map(|of| &of.name[..]).collect();
    assert_eq!(order, ["tcp_ack", "tcp_v4_rcv", "__tcp_transmit_skb", "new_one", "__spin_lost"]);
}

fn of_two(report: &slowpath_papers::Report) -> Vec<(&str, Option<bool>)> {
    let of_two = report.claims.iter().filter(|claim| claim.place.contains("20 to 22"));
    of_two.map(|claim| (claim.says, claim.holds)).collect()
}

#[test]
fn claims_about_two_kernels_need_an_older_and_a_newer_one() {
    let before = costs(&[(3000, "tcp_v4_rcv"), (3000, "kfree"), (4000, "tcp_ack")]);
    let after = costs(&[(4000, "tcp_v4_rcv"), (3000, "kfree"), (3000, "tcp_ack")]);
    let (before, after) = (runs(&before, 1000), runs(&after, 1000));
    let claims = put(&before, &after, ["2.6.14", "6.18"]);
    let holds = |part: &str| of_two(&claims).iter().find(|(says, _)| says.contains(part)).expect("a claim").1;
    assert_eq!(holds("TCP receive costs more"), Some(true));
    assert_eq!(holds("memory management remain"), Some(true));
    // No pages were sent; and the top tens are the same for all sizes.
    assert_eq!((holds("TCP send pages costs more"), holds("the top ten of both")), (None, None));
    let fell = put(&after, &before, ["2.6.14", "6.18"]);
    assert_eq!(of_two(&fell)[0].1, Some(false));
    let remark = |releases| {
        let report = put(&before, &after, releases);
        assert_eq!(of_two(&report), []);
        report.comparison.expect("compared").remarks.concat()
    };
    assert!(remark(["6.18", "6.18"]).contains("one kernel compared with itself, Linux 6.18"));
    assert!(remark(["6.18", "6.1"]).contains("Linux 6.18, which stands before, is the newer one"));
}

#[test]
fn remarks_name_differences_between_the_measurements() {
    let first = costs(&[(300, "tcp_ack")]);
    let mut second = costs(&[(300, "tcp_ack")]);
    for (_, profile) in &mut second {
        profile.events[0] = Event { name: "cycles".to_owned(), unit: "cycles" };
    }
    let (first, second) = (runs(&first, 10), runs(&second, 10));
    let mut report = lavoie::report(&second, Vec::new(), |case| case.to_string());
    let (before, after) = (side(&first, "6.1"), side(&second, "6.2"));
    lavoie::add_comparison(&mut report, Side { machine: Some("4 × other"), ..before }, after);
    let remarks = report.comparison.as_ref().expect("compared").remarks.concat();
    assert!(remarks.contains("on different machines, 4 × other and 2 × CPU"), "{remarks}");
    assert!(remarks.contains("sampled by different events, cpu-clock before and cycles after"), "{remarks}");
    lavoie::add_comparison(&mut report, Side { machine: None, ..before }, after);
    let remarks = report.comparison.expect("compared").remarks.concat();
    assert!(remarks.contains("whether both were measured on one machine was not kept"), "{remarks}");
}

#[test]
fn cases_are_distinct() {
    let mut names: Vec<String> = lavoie::cases().iter().map(ServerCase::to_string).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!((names.len(), count), (32, 32));
}

#[test]
fn cases_are_named_by_some_of_their_words() {
    let count = |words: &str| lavoie::cases().iter().filter(|case| case.is_named(words)).count();
    assert_eq!(["8K", "one sendfile no-TSO", "8k ten write tso", "mixed", "2K"].map(count), [8, 3, 1, 1, 0]);
    assert_eq!(["Apache", "mixed apache", "HAProxy", "poll", "8K write select"].map(count), [3, 1, 3, 1, 1]);
    let exact = |case: &ServerCase| count(&case.to_string()) == 1;
    assert!(lavoie::cases().iter().all(exact));
    assert!(lavoie::cases().iter().all(|case| case.is_named(&case.to_string())));
}
