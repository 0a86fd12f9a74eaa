//! Frames of a stream: a length of four bytes, the highest first, then so many bytes.

use futures_util::{AsyncRead, AsyncReadExt};
use std::io::{Error, ErrorKind, Result};

/// Bytes before each frame.
const HEAD: usize = 4;
/// Room that is made for the first part of a frame; then as much again as has come.
const STEP: usize = 64 << 10;

/// Appends a frame to what is to be written.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for more than `most` bytes: nothing is appended then.
pub fn put(buffer: &mut Vec<u8>, bytes: &[u8], most: usize) -> Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= most);
    let Some(length) = length else {
        let why = format!("a frame of {} bytes, limit {most}", bytes.len());
        return Err(Error::new(ErrorKind::InvalidInput, why));
    };
    buffer.reserve(HEAD + bytes.len());
    buffer.extend_from_slice(&length.to_be_bytes());
    buffer.extend_from_slice(bytes);
    Ok(())
}

/// The next frame; none where the stream ends between two.
///
/// # Errors
/// The stream's; [`ErrorKind::UnexpectedEof`] where it ends within a frame; [`ErrorKind::InvalidData`] for a frame of more than
/// `most` bytes, of which nothing is read then.
pub async fn read(stream: &mut (impl AsyncRead + Unpin), most: usize) -> Result<Option<Vec<u8>>> {
    let mut head = [0; HEAD];
    let mut got = 0;
    while got < HEAD {
        match stream.read(&mut head[got..]).await? {
            0 if got == 0 => return Ok(None),
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            more => got += more,
        }
    }
    let length = u32::from_be_bytes(head) as usize;
    if length > most {
        let why = format!("a frame of {length} bytes, limit {most}");
        return Err(Error::new(ErrorKind::InvalidData, why));
    }
    // What is claimed is believed as it comes: who says a megabyte and sends nothing costs little.
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let got = bytes.len();
        let more = (length - got).min(got.max(STEP));
        bytes.reserve_exact(more);
        bytes.resize(got + more, 0);
        stream.read_exact(&mut bytes[got..]).await?;
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::io::Cursor;
    use proptest::prelude::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    fn read_all(bytes: &[u8], most: usize) -> (Vec<Vec<u8>>, Option<ErrorKind>) {
        let mut stream = Cursor::new(bytes);
        let mut frames = Vec::new();
        loop {
            match wait(read(&mut stream, most)) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => return (frames, None),
                Err(error) => return (frames, Some(error.kind())),
            }
        }
    }

    #[test]
    fn too_large_a_frame_is_neither_written_nor_read() {
        let mut out = Vec::new();
        let error = put(&mut out, &[0; 9], 8).expect_err("too large");
        assert_eq!((error.kind(), out.len()), (ErrorKind::InvalidInput, 0));
        assert_eq!(read_all(&[0, 0, 0, 9, 1, 2, 3], 8), (vec![], Some(ErrorKind::InvalidData)));
        assert_eq!(read_all(&[0xff; 4], usize::MAX), (vec![], Some(ErrorKind::UnexpectedEof)));
    }

    #[test]
    fn large_frames_are_read_in_steps() {
        let frame: Vec<u8> = (0..3 * STEP + 5).map(|n| n as u8).collect();
        let mut bytes = Vec::new();
        put(&mut bytes, &frame, frame.len()).expect("not too large");
        assert_eq!(read_all(&bytes, frame.len()), (vec![frame.clone()], None));
        bytes.pop();
        assert_eq!(read_all(&bytes, frame.len()), (vec![], Some(ErrorKind::UnexpectedEof)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_however_it_is_cut(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..9),
            cut: prop::sample::Index,
        ) {
            let mut bytes = Vec::new();
            for frame in &frames {
                put(&mut bytes, frame, 40).expect("small");
            }
            prop_assert_eq!(read_all(&bytes, 40), (frames.clone(), None));
            let at = cut.index(bytes.len() + 1);
            let (some, error) = read_all(&bytes[..at], 40);
            prop_assert!(frames.starts_with(&some));
            let whole: usize = some.iter().map(|frame| frame.len() + HEAD).sum();
            prop_assert_eq!(error.is_some(), whole < at);
        }

        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>) {
            read_all(&bytes, 1 << 20);
        }
    }
}
