//! What a page passes on to those it links to, where their slots are another peer's to hold: importance, computed while pages are fetched.
//!
//! Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003: each page has cash, which it divides among those it
//! links to when it is visited, and is as important as the cash that came to it. Cash for pages of others is gathered and sent once, and
//! nobody acknowledges it: what is lost, comes twice or is a lie makes pages a little more or less important, until they are visited again.

use crate::key::UrlId;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// Payments of a message.
pub const MAX_PAYMENTS: usize = 1_024;
/// Bytes of a message: those of payments that are all as large as can be, and some around them.
pub const MAX_MESSAGE: usize = MAX_PAYMENTS * 24 + 16;
/// The most that one payment is, in the cash that a page starts with on average.
pub const MOST: f32 = 1_000_000.0;

/// Cash: more than nothing, at most [`MOST`]; the upper half of a `f32`, within .4 % of what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(u16);

impl Amount {
    /// The nearest to `cash`; none if that is nothing. More than [`MOST`] is as much.
    pub fn of(cash: f32) -> Option<Amount> {
        if cash.is_nan() || cash <= 0.0 {
            return None;
        }
        let amount = Amount((cash.min(MOST).to_bits().saturating_add(0x8000) >> 16) as u16);
        amount.is_within_bounds().then_some(amount)
    }

    /// What it stands for.
    pub fn cash(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    fn is_within_bounds(self) -> bool {
        let cash = self.cash();
        cash.is_finite() && cash > 0.0 && cash <= MOST * 1.01
    }
}

/// Cash for a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Payment {
    /// The page, of a slot that the receiver holds.
    pub page: UrlId,
    /// How much.
    pub amount: Amount,
}

/// Payments for one holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message(pub Vec<Payment>);

impl Versioned for Message {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The message in bytes that may be hostile.
    ///
    /// # Errors
    /// [`WireError`], also for messages that are larger, or have more in them, than they may.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "payments", |message: &Message| {
            let fits = |payment: &Payment| payment.amount.is_within_bounds();
            message.0.len() <= MAX_PAYMENTS && message.0.iter().all(fits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payment(page: u8, cash: f32) -> Payment {
        Payment { page: UrlId::from_bytes([page; 16]), amount: Amount::of(cash).expect("some") }
    }

    #[test]
    fn the_fullest_message_fits() {
        let message = Message(vec![payment(0xff, MOST); MAX_PAYMENTS]);
        assert!(message.encode().len() <= MAX_MESSAGE, "{}", message.encode().len());
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let of_bits = |bits| Message(vec![Payment { amount: Amount(bits), ..payment(1, 1.0) }]);
        let half = |cash: f32| (cash.to_bits() >> 16) as u16;
        for message in [
            Message(vec![payment(1, 1.0); MAX_PAYMENTS + 1]),
            of_bits(0),
            of_bits(half(f32::INFINITY)),
            of_bits(half(f32::NAN)),
            of_bits(half(-1.0)),
            of_bits(half(MOST * 2.0)),
        ] {
            assert!(Message::decode(&message.encode()).is_err(), "{message:?}");
        }
        assert!(Message::decode(&vec![1; MAX_MESSAGE + 1]).is_err());
    }

    #[test]
    fn nothing_is_no_amount_and_too_much_is_the_most() {
        for nothing in [0.0, -1.0, f32::NAN] {
            assert_eq!(Amount::of(nothing), None, "{nothing}");
        }
        assert_eq!(Amount::of(f32::INFINITY), Amount::of(MOST));
    }

    proptest! {
        #[test]
        fn an_amount_is_near_to_what_it_stands_for(cash in 1e-6f32..MOST) {
            let amount = Amount::of(cash).expect("some").cash();
            prop_assert!((amount - cash).abs() <= cash * 0.004, "{amount} for {cash}");
        }

        #[test]
        fn hostile_bytes_never_panic_and_what_is_said_is_understood(
            bytes: Vec<u8>,
            payments in proptest::collection::vec((any::<[u8; 16]>(), 1e-6f32..MOST), 0..20),
        ) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
            let payment = |(page, cash)| Some(Payment { page: UrlId::from_bytes(page), amount: Amount::of(cash)? });
            let message = Message(payments.into_iter().filter_map(payment).collect());
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }
}
