//! The procedures between two namespaces, over the lab's emulated path, whose truth is known.

use slowpath_lab::clock;
use slowpath_lab::error::LabError;
use slowpath_lab::namespaces::Place;
use slowpath_lab::relay::Relay;
use slowpath_lab::settings::Settings;
use slowpath_lab::testbed;
use slowpath_model::{Bytes, Rate};
use slowpath_path::PathConfig;
use slowpath_path::cross::{CrossConfig, CrossPattern};
use slowpath_path::link::{LinkConfig, QueueLimit};
use slowpath_probe::measure::{
    Available, Capacity, Channel, Direction, RoundTrip, Setting, available, capacity, round_trip,
};
use slowpath_probe::real::{Caps, Client, ProbeError, Server};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Of the two ends: other work of the machine is not measured.
const END_PRIORITY: i32 = 10;
/// Far above every rate of the grid, so that no result is the cap.
const CAP: Caps = Caps { rate: Rate::mbit(4000), duration: Duration::from_secs(10) };

/// A path.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub rate: u64,
    /// The rate of other flows on it, as random packets of 1500 bytes (Poisson).
    pub others: u64,
    /// Propagation delay, both directions together.
    pub round_trip_ns: u64,
}

/// The results.
#[derive(Debug)]
pub struct Found {
    pub round_trip: RoundTrip,
    pub capacity: Capacity,
    pub available: Available,
}

impl Cell {
    pub fn available(&self) -> u64 {
        self.rate - self.others
    }

    fn ways(&self) -> [PathConfig; 2] {
        let link = LinkConfig {
            rate: Rate::bits_per_second(self.rate),
            queue: QueueLimit::Packets(1000),
            stalls: vec![],
        };
        let cross = CrossConfig {
            pattern: CrossPattern::Poisson,
            rate: Rate::bits_per_second(self.others),
            packet: Bytes::new(1500),
            from: Duration::ZERO,
            to: None,
        };
        let back = PathConfig {
            link: Some(link),
            delay: Duration::from_nanos(self.round_trip_ns / 2),
            ..PathConfig::default()
        };
        let cross = if self.others > 0 { vec![cross] } else { vec![] };
        [PathConfig { cross, ..back.clone() }, back]
    }

    /// Creates the path and measures it.
    pub fn measure(&self) -> Result<Found, LabError> {
        let settings = Settings::plain();
        let (namespaces, hosts) = testbed::build(&settings)?;
        let [there, back] = self.ways();
        let relay = Relay::open(&namespaces, testbed::ways(&settings, [&there, &back], [1, 2]))?;
        let stop = AtomicBool::new(false);
        let stopped = || stop.load(Ordering::Relaxed);
        let listening = SocketAddr::new(hosts.receiver, 5717);
        let server = namespaces.inside(Place::Receiver, || Ok(Server::bind(listening, CAP)))?;
        let server = server.expect("it listens");
        // Its threads, and so its sockets, are in the namespace of the thread that created them.
        let serve = || {
            clock::make_thread_punctual(END_PRIORITY);
            server.run(&stopped, &|_| ()).expect("it serves");
            Ok(())
        };
        let probe = || {
            clock::make_thread_punctual(END_PRIORITY);
            Ok(measured(listening))
        };
        relay.during(|| {
            std::thread::scope(|scope| {
                let serving = scope.spawn(|| namespaces.inside(Place::Receiver, serve));
                let found = namespaces.inside(Place::Sender, probe);
                stop.store(true, Ordering::Relaxed);
                serving.join().expect("it ends")?;
                Ok(found?.expect("it is measured"))
            })
        })
    }
}

fn measured(to: SocketAddr) -> Result<Found, ProbeError> {
    let (mut client, connected) = Client::connect(to, &|| false)?;
    let round_trip = round_trip::measure(&mut client, &mut |_| ())?;
    let setting = Setting {
        direction: Direction::There,
        packet_bytes: connected.packet_bytes,
        round_trip_ns: round_trip.median_ns.expect("echoes came back"),
    };
    let capacity = capacity::measure(&mut client, &setting, &mut |_| ())?;
    let guess = capacity.rate.expect("packets came").min(client.limits().rate_bit_per_s);
    let available = available::measure(&mut client, &setting, guess, &mut |_| ())?;
    client.close()?;
    Ok(Found { round_trip, capacity, available })
}
