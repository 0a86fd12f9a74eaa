//! How does the API say no? `{"error":{"code","message"}}` with the fitting status.

use super::peer::PeerError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// HTTP status.
    pub status: StatusCode,
    /// For programs; does not change.
    pub code: &'static str,
    /// For people, with the remedy.
    pub message: String,
}

impl Problem {
    /// A refusal with this status, code and message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Problem {
        Problem { status, code, message: message.into() }
    }

    /// What was asked makes no sense.
    pub fn bad(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Too much at once.
    pub fn busy(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }
}

impl From<PeerError> for Problem {
    fn from(error: PeerError) -> Problem {
        let (status, code) = match &error {
            PeerError::Bad(_) => (StatusCode::BAD_REQUEST, "bad_request"),
            PeerError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            PeerError::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
            PeerError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            PeerError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        Problem::new(status, code, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Json(json!({ "error": { "code": self.code, "message": self.message } }));
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                // Basic makes a browser ask for the token, as its password.
                headers
                    .append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"anthill\""));
                headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"anthill\""));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
            }
            _ => {}
        }
        response
    }
}
