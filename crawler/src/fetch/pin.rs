//! Which address does a connection go to? The one of its request, whatever the name says.
//!
//! The address was resolved, guarded and chosen for politeness before; the HTTP client must not choose again. It
//! asks [`PinnedDns`] within the task of the request it connects for, where [`PIN`] holds the address. A connection
//! that belongs to no request is not made.

use super::{Instant, SendFuture};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

tokio::task_local! {
    /// What the request that this task makes is bound to.
    pub(super) static PIN: Pin;
}

/// What a request is bound to, and how far it came.
#[derive(Clone)]
pub(super) struct Pin {
    /// Where to connect.
    pub(super) peer: SocketAddr,
    /// When the request is no longer to be sent.
    pub(super) not_after: Option<Instant>,
    /// Shared with who waits for the response.
    pub(super) progress: Arc<Progress>,
}

/// How far a request came.
#[derive(Default)]
pub(super) struct Progress {
    connecting: AtomicBool,
    connected: OnceLock<Instant>,
    expired: AtomicBool,
}

impl Progress {
    /// Whether a connection was begun for it.
    pub(super) fn is_connecting(&self) -> bool {
        self.connecting.load(Ordering::Relaxed) && self.connected.get().is_none()
    }

    /// When its connection was made, if one was.
    pub(super) fn connected(&self) -> Option<Instant> {
        self.connected.get().copied()
    }

    /// Whether its time had passed when the connection was there.
    pub(super) fn has_expired(&self) -> bool {
        self.expired.load(Ordering::Relaxed)
    }
}

/// Answers the HTTP client's question for an address with the one pinned.
pub(super) struct PinnedDns;

impl Resolve for PinnedDns {
    fn resolve(&self, _: Name) -> Resolving {
        let peer = PIN.try_with(|pin| pin.peer);
        Box::pin(async move {
            let peer = peer.map_err(|_| BoxError::from("no request asked for this connection"))?;
            Ok(Box::new(std::iter::once(peer)) as Addrs)
        })
    }
}

/// Stands around the connector: notes when a connection begins and when it is there, and gives it up if by then the
/// request may no longer be sent.
#[derive(Clone)]
pub(super) struct PinLayer;

impl<S> Layer<S> for PinLayer {
    type Service = PinnedConnector<S>;

    fn layer(&self, inner: S) -> PinnedConnector<S> {
        PinnedConnector { inner }
    }
}

/// See [`PinLayer`].
#[derive(Clone)]
pub(super) struct PinnedConnector<S> {
    inner: S,
}

impl<S, R> Service<R> for PinnedConnector<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = SendFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let Ok(pin) = PIN.try_with(Clone::clone) else {
            return Box::pin(async { Err(BoxError::from("no request asked for this connection")) });
        };
        pin.progress.connecting.store(true, Ordering::Relaxed);
        let connecting = self.inner.call(to);
        Box::pin(async move {
            let connection = connecting.await?;
            let now = Instant::now();
            if pin.not_after.is_some_and(|not_after| now > not_after) {
                pin.progress.expired.store(true, Ordering::Relaxed);
                return Err(BoxError::from("the permit ran out while connecting"));
            }
            // A second connection for one request follows a first that was closed before it could be used.
            let _ = pin.progress.connected.set(now);
            Ok(connection)
        })
    }
}
