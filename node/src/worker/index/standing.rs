//! What is said of a page elsewhere, and with what of it pages were indexed lately.

use anthill_protocol::key::UrlId;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Places of [`Standings`], 8 bytes each.
const PLACES: usize = 1 << 16;

/// What other sites say of a page.
#[derive(Hash, Default)]
pub struct Standing {
    /// How many sites link to it.
    pub inlinks: u32,
    /// The texts of some of these links.
    pub anchors: Vec<String>,
    /// How important it is by these and all other links, in millionths of an average page.
    pub importance: u64,
}

/// With which standing pages were indexed lately: most links to a page come before it does, and it need not be indexed again for
/// them. A page has one place, from which another may displace it: then it is indexed once too often.
pub struct Standings {
    places: Box<[u64]>,
}

impl Default for Standings {
    fn default() -> Standings {
        Standings { places: vec![0; PLACES].into() }
    }
}

impl Standings {
    /// A page is indexed with this.
    pub fn remember(&mut self, id: &UrlId, standing: &Standing) {
        let mark = mark(id, standing);
        self.places[place(id)] = mark;
    }

    /// Whether a page was indexed last with this, as far as is remembered.
    pub fn has(&self, id: &UrlId, standing: &Standing) -> bool {
        self.places[place(id)] == mark(id, standing)
    }

    /// What was indexed lately is lost.
    pub fn clear(&mut self) {
        self.places.fill(0);
    }
}

fn place(id: &UrlId) -> usize {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() as usize % PLACES
}

/// Not zero, which no page has.
fn mark(id: &UrlId, standing: &Standing) -> u64 {
    let mut hasher = DefaultHasher::new();
    (id, standing).hash(&mut hasher);
    hasher.finish() | 1
}
