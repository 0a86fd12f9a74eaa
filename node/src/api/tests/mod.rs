//! The whole API over a real socket, with a peer in memory behind it.

mod document;
mod fake;
mod http;
mod pages;

use super::{Auth, Token, router, serve};
use crate::metrics::Metrics;
use fake::Fake;
use reqwest::{Client, Method, RequestBuilder};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server of the API, gone when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub peer: Arc<Fake>,
    pub token: String,
    pub client: Client,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Server {
    pub async fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("address");
        let peer = Arc::new(Fake::default());
        let token = Token::random().expect("random");
        let secret = token.secret().to_owned();
        let auth = Auth::new(token, address, &["anthill.example".to_owned()]);
        let router = router(peer.clone(), auth, &Metrics::new());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(serve(listener, router, async {
            let _ = stopped.await;
        }));
        let client =
            Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().expect("client");
        Server { address, peer, token: secret, client, stop: Some(stop), task }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    /// With the token.
    pub fn change(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&self.token)
    }

    /// Status and JSON of a request.
    pub async fn json(&self, request: RequestBuilder) -> (u16, serde_json::Value) {
        let response = request.send().await.expect("answer");
        let status = response.status().as_u16();
        let body = response.text().await.expect("body");
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}")))
    }

    pub async fn end(mut self) {
        self.stop.take().expect("not ended").send(()).expect("running");
        (&mut self.task).await.expect("ended well");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
