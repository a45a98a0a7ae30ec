//! Opening and unpacking, as somebody would have it who means harm.

mod output;

use slowpath_files::{Bound, Packing, Root, TooMuch, Unpacked, open_regular};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with a root in it, and next to the root a file that is not to be had.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/usr/lib")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(folder.path().join("root/usr/lib/a"), "a").unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn root(&self) -> Root {
        Root::open(&self.path("root")).unwrap()
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.path("root").join(name)).unwrap();
    }
}

fn text(file: io::Result<File>) -> Result<String, String> {
    let mut text = String::new();
    file.and_then(|mut file| file.read_to_string(&mut text)).map_err(|error| error.to_string())?;
    Ok(text)
}

fn fifo(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{}", io::Error::last_os_error());
}

#[test]
fn a_file_below_the_root_is_opened_by_any_path_to_it() {
    let world = World::new();
    world.link("usr/lib", "lib");
    world.link("/usr/lib", "absolute");
    world.link("/absolute/../../../../usr/./lib//a", "around");
    for path in ["usr/lib/a", "/usr/lib/a", "//usr/../usr/lib/a", "lib/a", "absolute/a", "around"] {
        assert_eq!(text(world.root().file(Path::new(path))).as_deref(), Ok("a"), "{path}");
    }
}

#[test]
fn nothing_leads_out_of_the_root() {
    let world = World::new();
    world.link("../secret", "link");
    world.link("..", "up");
    world.link(world.path("secret"), "absolute");
    world.link(world.path(""), "folder");
    let secret = world.path("secret");
    let secret = secret.to_str().unwrap();
    for path in [
        "../secret",
        "/./../secret",
        "usr/../../secret",
        "link",
        "up/secret",
        "absolute",
        "folder/secret",
        secret,
    ] {
        let found = text(world.root().file(Path::new(path)));
        assert!(found.as_ref().is_err_and(|error| error.contains("No such file")), "{path}: {found:?}");
    }
}

#[test]
fn links_in_a_circle_and_long_paths_end() {
    let world = World::new();
    world.link("two", "one");
    world.link("one", "two");
    world.link("grow/grow", "grow");
    let root = world.root();
    for path in ["one", "grow"] {
        assert_eq!(root.file(Path::new(path)).unwrap_err().raw_os_error(), Some(libc::ELOOP), "{path}");
    }
    let long = "a/".repeat(4000);
    assert_eq!(root.file(Path::new(&long)).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    assert_eq!(root.file(Path::new("")).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert!(root.file(Path::new("usr/lib/a/b")).is_err());
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let world = World::new();
    fifo(&world.path("root/fifo"));
    let _listener = UnixListener::bind(world.path("root/socket")).unwrap();
    world.link("fifo", "link");
    let expected = [
        ("fifo", "it is a FIFO, not a regular file"),
        ("link", "it is a FIFO, not a regular file"),
        ("socket", "it is a socket, not a regular file"),
        ("usr", "is a directory"),
    ];
    for (path, error) in expected {
        for opened in [world.root().file(Path::new(path)), open_regular(&world.path("root").join(path))] {
            assert_eq!(text(opened), Err(error.to_owned()), "{path}");
        }
    }
    let host = Root::open(Path::new("/")).unwrap();
    for opened in [host.file(Path::new("/dev/zero")), open_regular(Path::new("/dev/zero"))] {
        assert_eq!(text(opened), Err("it is a device, not a regular file".to_owned()));
    }
    let answer = text(host.file(Path::new("/proc/self/status")));
    assert_eq!(answer, Err("it is in a file system of the kernel's".to_owned()));
}

const BOUND: Bound = Bound { free: 1000, ratio: 100, most: 1 << 20 };

fn packed(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zlib => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zstd => zstd::encode_all(bytes, 19).unwrap(),
    }
}

#[test]
fn what_packs_as_usual_is_unpacked_and_what_does_not_is_refused() {
    for packing in [Packing::Gzip, Packing::Zlib, Packing::Zstd] {
        let usual: Vec<u8> =
            (0..200_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_769) >> 20).to_le_bytes()).collect();
        let mut unpacked = Vec::new();
        let small = packed(packing, &usual);
        Unpacked::new(packing, &small[..], BOUND).unwrap().read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == usual, "{packing:?}");

        let bomb = packed(packing, &vec![0; 16 << 20]);
        unpacked.clear();
        let error = Unpacked::new(packing, &bomb[..], BOUND).unwrap().read_to_end(&mut unpacked).unwrap_err();
        let much = TooMuch::of(&error).expect("it says why");
        assert!(
            much.packed <= bomb.len() as u64 && much.unpacked == BOUND.of(much.packed),
            "{packing:?}: {much:?}"
        );
        assert!(unpacked.len() as u64 <= BOUND.most, "{packing:?}: {}", unpacked.len());
    }
}

#[test]
fn members_of_a_gzip_file_share_one_bound() {
    let member = packed(Packing::Gzip, &[0; 900]);
    let members = member.repeat(10_000);
    let mut unpacked = Vec::new();
    let bound = Bound { free: 1000, ratio: 2, most: u64::MAX };
    let error =
        Unpacked::new(Packing::Gzip, &members[..], bound).unwrap().read_to_end(&mut unpacked).unwrap_err();
    assert!(TooMuch::of(&error).is_some(), "{error}");
}
