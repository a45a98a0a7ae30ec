//! A diagnosis from anywhere: nothing of it is planned that slowpath does not advise about a capture.

use slowpath_remedies::Setting;
use slowpath_tune::Plan;
use slowpath_tune::plan::{Here, Made, findings, propose_advised};

pub fn try_input(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let Ok(flows) = findings("fuzz.json", data) else { return };
    let address = "192.0.2.1".parse().expect("an address");
    for here in [Here::Sender, Here::Receiver, Here::At(address)] {
        let Ok(of) = propose_advised(&flows, here, true) else { continue };
        let plan = of.proposed.plan(Made::default(), |change| {
            // As long as the value is, so that limits fit.
            let zeros = vec!["0"; change.then.split_whitespace().count()].join(" ");
            let is_route = matches!(change.setting, Setting::Route { .. });
            Ok(if is_route { ("none".to_owned(), "dev eth0".to_owned()) } else { (zeros.clone(), zeros) })
        });
        for planned in &plan.changes {
            match &planned.setting {
                Setting::Sysctl(name) => assert!(name.starts_with("net."), "{name}"),
                Setting::Route { to, .. } => assert!(to.ends_with("/32") || to.ends_with("/128"), "{to}"),
                other => panic!("{other} is not advised"),
            }
        }
        let text = plan.to_toml();
        assert_eq!(Plan::from_toml("again.toml", &text).as_ref(), Ok(&plan), "{text}");
    }
}
