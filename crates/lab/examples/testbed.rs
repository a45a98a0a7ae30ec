//! Keeps two hosts and the path's namespace open until it is ended, to look around or to try something by hand: `ip
//! netns exec NAME ...` with the names it prints.

use slowpath_lab::error::LabError;
use slowpath_lab::namespaces::Place;
use slowpath_lab::settings::Settings;
use slowpath_lab::{signals, testbed, wire};

fn main() -> Result<(), LabError> {
    signals::remove_namespaces_when_ended()?;
    let (namespaces, hosts) = testbed::build(&Settings::plain())?;
    wire::join(&namespaces, &[])?;
    println!("{} {}", namespaces.name(Place::Sender), hosts.sender);
    println!("{} {}", namespaces.name(Place::Receiver), hosts.receiver);
    println!("ready; end it with Ctrl-C");
    loop {
        std::thread::park();
    }
}
