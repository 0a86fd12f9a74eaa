//! The bytes of messages and records, one section a protocol. A change here is a change of a `VERSION`.

#[path = "golden/view.rs"]
mod view;

/// Fails unless the bytes are these, and says what they are.
fn assert_golden(name: &str, bytes: &[u8], golden: &str) {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, golden, "{name}: with other bytes it needs another VERSION");
}
