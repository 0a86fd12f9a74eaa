//! How many pages a server answers: `load ADDRESS HOSTS SECONDS` asks a bench web of so many hosts, over 32 kept
//! connections, for home pages and prints requests and bytes per second. The client does as little as it can, so that
//! the server is what is measured; its CPU time is best read from the system.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 32;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, hosts, seconds] = &arguments[..] else {
        anyhow::bail!("usage: load ADDRESS HOSTS SECONDS")
    };
    let (address, hosts): (SocketAddr, usize) = (address.parse()?, hosts.parse()?);
    let limit = Duration::from_secs(seconds.parse()?);
    let mut streams = (0..CONNECTIONS).map(|_| TcpStream::connect(address)).collect::<Result<Vec<_>, _>>()?;
    let width = (hosts - 1).checked_ilog10().unwrap_or(0) as usize + 1;
    let (mut requests, mut bytes, start) = (0_usize, 0_usize, Instant::now());
    let mut buffer = vec![0; 1 << 16];
    while start.elapsed() < limit {
        for stream in &mut streams {
            let host = requests % hosts;
            stream.write_all(
                format!("GET / HTTP/1.1\r\nHost: h{host:0width$}.test\r\nUser-Agent: load\r\n\r\n")
                    .as_bytes(),
            )?;
            requests += 1;
        }
        for stream in &mut streams {
            bytes += answer(stream, &mut buffer)?;
        }
    }
    let took = start.elapsed().as_secs_f64();
    println!("{:.0} requests/s, {:.1} MB/s", requests as f64 / took, bytes as f64 / took / 1e6);
    Ok(())
}

/// Reads one answer with a Content-Length.
fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> anyhow::Result<usize> {
    let (mut have, mut need) = (0, usize::MAX);
    while have < need {
        let read = stream.read(&mut buffer[have..])?;
        anyhow::ensure!(read > 0, "the server closed a connection");
        have += read;
        let head =
            buffer[..have].windows(4).position(|end| end == b"\r\n\r\n").filter(|_| need == usize::MAX);
        if let Some(end) = head {
            let text = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
            let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            need = end + 4 + length.unwrap_or("0").parse::<usize>()?;
        }
    }
    Ok(have)
}
