//! Control groups: what `/proc/PID/cgroup` says, and the Kubernetes pod that its path names.

/// The control group of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path; of a container in a pod, the pod's, which outlives its containers.
    pub path: String,
    /// The pod's UID, as Kubernetes writes it: `kube_pod_info` of kube-state-metrics has its name.
    pub pod: Option<String>,
}

impl Cgroup {
    /// From the text of `/proc/PID/cgroup` (cgroups(7)): the unified hierarchy, otherwise that of processes, memory or
    /// CPUs.
    pub fn read(text: &str) -> Option<Self> {
        let lines =
            || text.lines().filter_map(|line| line.splitn(3, ':').collect::<Vec<_>>().try_into().ok());
        let with = |wanted: &str| {
            lines().find_map(|[_, controllers, path]: [&str; 3]| {
                controllers.split(',').any(|name| name == wanted).then_some(path)
            })
        };
        let path = ["", "pids", "memory", "cpu"].into_iter().find_map(|name| {
            // On a host with both, the unified one may be empty.
            with(name).filter(|path| !name.is_empty() || *path != "/" || lines().count() == 1)
        });
        path.or_else(|| with("")).map(Self::of)
    }

    /// Of a path.
    fn of(path: &str) -> Self {
        // A container sees groups of others relative to its own: /../../system.slice (cgroup_namespaces(7)).
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "..")).collect();
        let is_kubernetes = parts.iter().any(|part| part.starts_with("kubepods"));
        let found = parts.iter().enumerate().filter(|_| is_kubernetes);
        let pod = found.filter_map(|(place, part)| Some((place, pod_uid(part)?))).next();
        let kept = pod.as_ref().map_or(parts.len(), |(place, _)| place + 1);
        Self { path: format!("/{}", parts[..kept].join("/")), pod: pod.map(|(_, uid)| uid) }
    }
}

/// The UID in the name of a pod's group: `pod<UID>` (cgroupfs driver), or
/// `kubepods-burstable-pod<UID with underscores>.slice` (systemd driver).
fn pod_uid(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let uid = name.strip_prefix("pod").or_else(|| name.rsplit_once("-pod").map(|(_, uid)| uid))?;
    let uid = uid.replace('_', "-");
    // A UUID, or the hash of a static pod's manifest.
    let is_uid = (uid.len() == 36 || uid.len() == 32)
        && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uid.then_some(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0f2c1d3e-1111-2222-3333-444455556666";

    #[test]
    fn pods_are_named_by_the_path_of_either_driver() {
        let with_dashes = format!("/kubepods/burstable/pod{UID}/5e7ac0ffee");
        let slice = format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
        let systemd = format!("/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-5e7a.scope");
        for (path, kept) in [
            (with_dashes.clone(), format!("/kubepods/burstable/pod{UID}")),
            (format!("/../..{with_dashes}"), format!("/kubepods/burstable/pod{UID}")),
            (systemd, format!("/kubepods.slice/kubepods-burstable.slice/{slice}")),
        ] {
            let found = Cgroup::read(&format!("0::{path}\n")).expect("a group");
            assert_eq!((found.pod.as_deref(), found.path), (Some(UID), kept), "{path}");
        }
    }

    #[test]
    fn other_groups_have_no_pod() {
        for (text, path) in [
            ("0::/system.slice/nginx.service\n", "/system.slice/nginx.service"),
            ("0::/\n", "/"),
            ("12:pids:/user.slice\n1:name=systemd:/x\n0::/\n", "/user.slice"),
            ("3:cpu,cpuacct:/a:b\n", "/a:b"),
            ("0::/kubepods/podshop\n", "/kubepods/podshop"),
            ("0::/pod0f2c1d3e-1111-2222-3333-444455556666\n", "/pod0f2c1d3e-1111-2222-3333-444455556666"),
        ] {
            let found = Cgroup::read(text).expect("a group");
            assert_eq!((found.path.as_str(), found.pod), (path, None), "{text}");
        }
        assert_eq!(Cgroup::read("nonsense"), None);
        assert_eq!(Cgroup::read(""), None);
    }
}
