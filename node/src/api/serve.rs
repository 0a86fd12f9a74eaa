//! Connections: how many, how long, and how they end.

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections at once; further ones wait in the system's queue. Browsers open six each.
pub const MAX_CONNECTIONS: usize = 256;
/// Time to send the head of a request, and to be idle between two.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Bytes of a request's head: the longest query and some kilobytes of headers fit.
const MAX_HEAD: usize = 16 << 10;
/// Headers of a request; browsers send some 20.
const MAX_HEADERS: usize = 64;
/// Time for answers under way when the server ends: all of a peer's end has to fit in ten seconds.
const GRACE: Duration = Duration::from_secs(3);
/// Pause after the system refused a connection, as when there are no more file handles.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// Who is at the other end; put into every request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote(pub SocketAddr);

/// Answers on the listener until `shutdown` is there, then lets answers under way end.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()> + Send) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    tokio::pin!(shutdown);
    loop {
        let accepted = async {
            // The semaphore is never closed, so there is always a place in the end.
            let place = places.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut shutdown => break,
            accepted = accepted => accepted,
        };
        let (stream, remote) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!("no connection accepted: {error}");
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            }
        };
        let connection = graceful.watch(connection(stream, remote, router.clone()));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::trace!("connection of {remote} ended: {error}");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::debug!("answers under way were broken off");
    }
}

fn connection(
    stream: TcpStream,
    remote: SocketAddr,
    router: Router,
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    // Without it the last part of an answer may wait for an acknowledgement; it is a matter of speed only.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Remote(remote));
        router.call(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
}
