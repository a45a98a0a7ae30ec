//! What the other end of a measurement says: messages come back as they were written, and no byte is read twice.

use slowpath_probe::protocol::{CLIENT_BYTES, Datagram, Message, SERVER_BYTES};

pub fn try_input(data: &[u8]) {
    for most in [CLIENT_BYTES, SERVER_BYTES] {
        let mut rest = data;
        while let Ok(Some((message, length))) = Message::read(rest, most) {
            assert!((5..=most + 4).contains(&length) && length <= rest.len());
            let mut bytes = Vec::new();
            message.write(&mut bytes);
            match message {
                // Its text is made fit for a terminal.
                Message::Refused(_) => assert!(bytes.len() <= 4 + most.max(1200)),
                _ => assert_eq!(bytes, rest[..length]),
            }
            rest = &rest[length..];
        }
    }
    let token = data.first_chunk().copied().unwrap_or_default();
    if let Some(datagram) = Datagram::read(data, &token) {
        assert_eq!(Datagram::read(&datagram.write(&token), &token), Some(datagram));
    }
}
