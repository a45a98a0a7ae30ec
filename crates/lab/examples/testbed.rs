//! Holds two hosts and the path's namespace open until it is ended, to look around or to try something by
//! hand: `nsenter --net=PATH ...` with the paths it prints.

use slowpath_lab::error::LabError;
use slowpath_lab::namespaces::Place;
use slowpath_lab::settings::Settings;
use slowpath_lab::{signals, testbed, wire};

fn main() -> Result<(), LabError> {
    signals::clean_up_when_ended()?;
    let (namespaces, hosts) = testbed::build(&Settings::plain())?;
    wire::join(&namespaces, &[])?;
    println!("{} {}", namespaces.path(Place::Sender), hosts.sender);
    println!("{} {}", namespaces.path(Place::Receiver), hosts.receiver);
    println!("ready; end it with Ctrl-C");
    loop {
        std::thread::park();
    }
}
