//! How important pages are, found while they are fetched: each visit passes on what came to the page since the last.
//!
//! Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003. *Departures:* a page begins with .15 when it is visited first, and
//! passes on .85 of what it has, so that what comes to a page in the end is its PageRank (Brin and Page, 1998) times the number of pages, whatever the order of
//! visits was (as in McSherry, "A uniform approach to accelerated PageRank computation", WWW 2005); the paper has a page that all others link to.
//! What passes to pages that are never fetched is lost, as at pages without links.

use crate::agent::Agent;
use crate::rights::Rights;
use anthill_crawler::record::UrlRecord;
use anthill_protocol::cash::{Amount, Payment};
use anthill_protocol::key::UrlId;
use std::collections::BTreeMap;

/// Of what came to a page, so much it passes on.
const PASSED_ON: f32 = 0.85;
/// Records have importance in so many parts of an average page's.
pub const MILLIONTHS: f64 = 1e6;
/// Pages of others for which cash waits to be sent; what is for more is lost.
const MAX_WAITING: usize = 1 << 16;

/// Cash for pages that others hold.
#[derive(Default)]
pub(crate) struct Abroad(BTreeMap<UrlId, f32>);

impl Abroad {
    fn add(&mut self, page: UrlId, cash: f32) {
        if self.0.len() < MAX_WAITING || self.0.contains_key(&page) {
            *self.0.entry(page).or_default() += cash;
        }
    }
}

impl<R: Rights> Agent<R> {
    /// A page was visited: what came to it is written down, and passed on to those that it links to, each once.
    pub(crate) fn visited(&mut self, page: UrlId, record: &mut UrlRecord, targets: &[UrlId]) {
        let Some(cash) = self.frontier.cash() else { return };
        let begins = if record.importance == 0 { 1.0 - PASSED_ON } else { 0.0 };
        let came = cash.take(&page) + begins;
        let importance = (f64::from(came) * MILLIONTHS).round() as u64;
        record.importance = record.importance.saturating_add(importance);
        let each = came * PASSED_ON / targets.len().max(1) as f32;
        targets.iter().for_each(|target| self.pay(*target, each));
    }

    /// What a page had goes to where it redirects.
    pub(crate) fn redirected(&mut self, page: UrlId, to: UrlId) {
        let cash = self.frontier.cash().map_or(0.0, |cash| cash.take(&page));
        self.pay(to, cash);
    }

    fn pay(&mut self, page: UrlId, cash: f32) {
        if self.rights.holds(page.slot()) {
            self.frontier.cash().into_iter().for_each(|all| all.add(&page, cash));
        } else if cash > 0.0 {
            self.abroad.add(page, cash);
        }
    }

    /// Other peers pass on to pages of this one.
    pub fn paid(&mut self, payments: &[Payment]) {
        for payment in payments {
            if self.rights.holds(payment.page.slot()) {
                self.pay(payment.page, payment.amount.cash());
            }
        }
    }

    /// Whether something is to be passed on to pages of other peers.
    pub fn has_payments(&self) -> bool {
        !self.abroad.0.is_empty()
    }

    /// What is to be passed on, by page.
    pub fn take_payments(&mut self) -> Vec<Payment> {
        let all = std::mem::take(&mut self.abroad.0).into_iter();
        all.filter_map(|(page, cash)| Some(Payment { page, amount: Amount::of(cash)? })).collect()
    }

    /// What came to a page since it was last visited, in [`MILLIONTHS`].
    pub fn cash_of(&self, page: &UrlId) -> u64 {
        (f64::from(self.frontier.cash_of(page)) * MILLIONTHS).round() as u64
    }
}
