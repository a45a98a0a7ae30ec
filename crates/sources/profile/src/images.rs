//! Images by the names that profilers give them, and the outermost functions of complete stacks.

use slowpath_cost::Image;

/// Outermost functions of programs and threads, which glibc, musl and ld.so call. Before `main` there is only its
/// caller, which code without frame pointers often hides.
const BEGINNINGS: &[&str] = &[
    "_start",
    "main",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "_dl_start",
    "_dl_start_user",
];

/// Whether a stack with this outermost function is complete: a kernel stack always is; a program's is if it reaches the
/// program's entry.
pub(crate) fn is_whole(outermost: &str, image: &Image) -> bool {
    let name = outermost.split_once('@').map_or(outermost, |(name, _)| name);
    matches!(image, Image::Kernel(_)) || BEGINNINGS.contains(&name)
}

/// Bytes of a file name; no file system allows longer ones (`NAME_MAX`, `include/uapi/linux/limits.h`).
const LONGEST_NAME: usize = 255;

/// The name of a file without its folders.
pub(crate) fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = (0..=LONGEST_NAME.min(name.len())).rfind(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// A module's name as the kernel writes it, from its file name: `/lib/modules/…/nf-conntrack.ko.xz` or
/// `[nf_conntrack]`.
pub(crate) fn module(file: &str) -> String {
    let name = file_name(file).split(".ko").next().unwrap_or_default();
    name.trim_matches(['[', ']']).replace('-', "_")
}

/// An image by the name that perf (`dso__type` and `dso__name`), pprof and opreport use.
pub(crate) fn image(name: &str) -> Image {
    let file = file_name(name);
    match file {
        "" | "[unknown]" => Image::Unknown,
        "[vdso]" | "[vdso32]" | "[vsyscall]" | "[stack]" | "[heap]" | "[anon]" => {
            Image::User(file.to_owned())
        }
        _ if file.starts_with("[kernel") || file.starts_with("[guest.kernel") => Image::Kernel(None),
        _ if file == "vmlinux" || file.starts_with("vmlinux-") || file.starts_with("vmlinux.") => {
            Image::Kernel(None)
        }
        _ if file.starts_with("bpf_prog_") || file.starts_with("bpf_trampoline_") => {
            Image::Kernel(Some("bpf".to_owned()))
        }
        _ if file.contains(".ko.") || file.ends_with(".ko") => Image::Kernel(Some(module(file))),
        _ if file.starts_with('[') && file.ends_with(']') && !file.contains(':') => {
            Image::Kernel(Some(module(file)))
        }
        _ => Image::User(file.to_owned()),
    }
}

/// The name from which [`image`] gives this image.
pub(crate) fn image_name(image: &Image) -> String {
    match image {
        Image::Kernel(None) => "[kernel.kallsyms]".to_owned(),
        Image::Kernel(Some(module)) => format!("[{module}]"),
        Image::User(name) => name.clone(),
        Image::Unknown => "[unknown]".to_owned(),
    }
}

/// The unit of an event's periods, derived from its name if nothing else gives it.
pub(crate) fn unit(event: &str) -> &'static str {
    // Modifiers follow the first colon or slash: `cycles:P`, `cpu_core/cycles/`.
    let mut parts = event.split([':', '/']).filter(|part| !part.starts_with("cpu_"));
    match parts.next().unwrap_or_default() {
        "cpu-clock" | "task-clock" => "ns",
        "cycles" | "cpu-cycles" => "cycles",
        "instructions" => "instructions",
        _ => "events",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_names_round_trip() {
        let module = |name: &str| Image::Kernel(Some(name.to_owned()));
        assert_eq!(image("/lib/modules/6.18.0/kernel/net/nf-conntrack.ko.xz"), module("nf_conntrack"));
        assert_eq!(image("[tcp_bbr]"), module("tcp_bbr"));
        assert_eq!(image("[kernel.kallsyms].init.text"), Image::Kernel(None));
        assert_eq!(image("/usr/lib/debug/boot/vmlinux-6.1.0"), Image::Kernel(None));
        assert_eq!(image("/usr/lib/libc.so.6 (deleted)"), Image::User("libc.so.6".to_owned()));
        assert_eq!(image("[vdso]"), Image::User("[vdso]".to_owned()));
        assert_eq!(image("[unknown]"), Image::Unknown);
        for name in ["[kernel.kallsyms]", "[tcp_bbr]", "nginx", "[vdso]", "[unknown]"] {
            assert_eq!(image_name(&image(name)), name);
        }
    }

    #[test]
    fn unit_follows_from_the_event_name() {
        assert_eq!(unit("cpu-clock:pppH"), "ns");
        assert_eq!(unit("cpu_core/cycles/"), "cycles");
        assert_eq!(unit("net:netif_rx"), "events");
    }
}
