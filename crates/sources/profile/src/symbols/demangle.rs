//! Demangles names of Rust and C++.

/// The demangled name of a symbol.
pub(crate) fn demangled(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // Without the hash of the crate's version, as perf shows it.
        return format!("{rust:#}");
    }
    if name.starts_with("_Z") && name.len() <= LONGEST {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        let demangled = cpp_demangle::Symbol::new(name)
            .ok()
            .and_then(|symbol| symbol.demangle_with_options(&options).ok());
        if let Some(cpp) = demangled {
            return cpp;
        }
    }
    name.to_owned()
}

/// Longer names are left as they are: C++ names expand to many times their length.
const LONGEST: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn rust_and_cpp_names_are_demangled() {
        assert_eq!(demangled("tcp_ack"), "tcp_ack");
        assert_eq!(demangled("_ZN3std2io4Read4read17h0123456789abcdefE"), "std::io::Read::read");
        assert_eq!(demangled("_ZN4grpc6Server5StartEPPNS_21ServerCompletionQueueEm"), "grpc::Server::Start");
        assert_eq!(demangled("_Z"), "_Z");
    }
}
