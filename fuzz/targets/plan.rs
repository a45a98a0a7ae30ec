//! A plan that somebody edited: it is read back as it is written, and each change is words of a known program; or its faults
//! have lines.

use slowpath_remedies::Setting;
use slowpath_tune::Plan;

pub fn try_input(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    match Plan::from_toml("fuzz.toml", data) {
        Ok(plan) => {
            let text = plan.to_toml();
            assert_eq!(Plan::from_toml("again.toml", &text).as_ref(), Ok(&plan), "{text}");
            for planned in &plan.changes {
                let (setting, now, then) = (&planned.setting, &planned.now, &planned.then);
                assert_eq!(setting.to_string().parse::<Setting>().as_ref(), Ok(setting));
                assert_ne!(setting.canonical(now), setting.canonical(then));
                for (from, to) in [(now, then), (then, now)] {
                    assert!(
                        !setting.line(from, to).is_empty() && !setting.line(from, to).contains(['\0', '\n'])
                    );
                    let words = setting.words(from, to);
                    // No program is needed.
                    let Some(program) = words.first() else { continue };
                    let is_option = |word: &String| {
                        word.starts_with('-') && !matches!(&**word, "-6" | "-K" | "-G" | "-w")
                    };
                    assert!(["sysctl", "ip", "ethtool", "tc"].contains(&&**program), "{words:?}");
                    assert!(words.iter().all(|word| !word.is_empty() && !is_option(word)), "{words:?}");
                    // No shell reads them: the kernel allows interfaces with names such as `eth0;`.
                    assert!(words.iter().all(|word| !word.contains(['\0', '\n'])), "{words:?}");
                }
            }
        }
        Err(bad) => {
            let lines = data.lines().count().max(1);
            assert!(!bad.faults.is_empty());
            assert!(bad.faults.iter().all(|fault| (1..=lines + 1).contains(&fault.line)), "{bad}");
        }
    }
}
