//! How many different URLs has each directory given, in fixed memory?

use anthill_protocol::key::HostId;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// Directories counted at a time: 70 bytes each, 5 MB in all. The ones with many URLs matter, and they are few.
pub const DIRECTORIES: usize = 1 << 16;

/// Directories that share a place of the table; a full place forgets the one with the fewest URLs.
const WAYS: usize = 8;

/// Registers of a sketch: the standard error is 1.04/√64 = 13 %.
const REGISTERS: usize = 64;

/// Counts different URLs per directory, so that one that never ends (a calendar, a search form) cannot have the
/// crawl to itself however its URLs look.
///
/// A directory is a URL up to the last slash of its path, or, where there is a query, up to its `?`: each script has
/// a budget of its own. Counts are HyperLogLog sketches (Flajolet et al. 2007; linear counting while small), so a URL
/// seen again counts once and nothing grows. When [`DIRECTORIES`] are counted, a new one takes the place of a small
/// one: forgetting errs towards admitting, and big directories are not forgotten.
#[derive(Clone)]
pub struct Directories {
    limit: u32,
    hash: FixedState,
    /// Hash of a directory; 0 where none is.
    keys: Vec<u64>,
    /// The number of URLs, as the sketch tells.
    counts: Vec<u32>,
    sketches: Vec<[u8; REGISTERS]>,
}

impl Directories {
    /// Admits about `per_directory` URLs of each (see [`super::Budgets`]). The seed keeps outsiders from making up
    /// directories that share the count of another.
    pub fn new(per_directory: u32, seed: u64) -> Directories {
        Directories {
            limit: per_directory,
            hash: FixedState::with_seed(seed),
            keys: vec![0; DIRECTORIES],
            counts: vec![0; DIRECTORIES],
            sketches: vec![[0; REGISTERS]; DIRECTORIES],
        }
    }

    /// Counts a canonical URL and says whether its directory has room. Once it has none, everything in it is refused,
    /// URLs that were admitted before too: the caller knows those already.
    pub fn admit(&mut self, host: HostId, url: &str) -> bool {
        let place = self.place(self.hash.hash_one((host.bytes(), directory(url))).max(1));
        if self.counts[place] >= self.limit {
            return false;
        }
        let hash = self.hash.hash_one(url);
        let sketch = &mut self.sketches[place];
        let register = &mut sketch[(hash % REGISTERS as u64) as usize];
        let rank = (hash / REGISTERS as u64).trailing_zeros().min(64 - REGISTERS.ilog2()) as u8 + 1;
        if rank > *register {
            *register = rank;
            self.counts[place] = estimate(sketch);
        }
        true
    }

    /// Where the directory with this hash is, or is from now on.
    fn place(&mut self, key: u64) -> usize {
        let sets = (DIRECTORIES / WAYS) as u64;
        let first = (key % sets) as usize * WAYS;
        let ways = first..first + WAYS;
        if let Some(found) = ways.clone().find(|&way| self.keys[way] == key) {
            return found;
        }
        // Empty ones have a count of 0.
        let place = ways.min_by_key(|&way| self.counts[way]).unwrap_or(first);
        self.keys[place] = key;
        self.counts[place] = 0;
        self.sketches[place] = [0; REGISTERS];
        place
    }
}

impl std::fmt::Debug for Directories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directories").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The directory or script of a canonical URL.
fn directory(url: &str) -> &str {
    match memchr::memchr(b'?', url.as_bytes()) {
        Some(query) => &url[..=query],
        None => &url[..memchr::memrchr(b'/', url.as_bytes()).map_or(url.len(), |slash| slash + 1)],
    }
}

/// How many different values a sketch has seen.
fn estimate(sketch: &[u8; REGISTERS]) -> u32 {
    /// Corrects the bias of 64 registers (Flajolet et al. 2007, figure 3).
    const ALPHA: f64 = 0.709;
    let registers = REGISTERS as f64;
    let sum: f64 = sketch.iter().map(|&rank| (-f64::from(rank)).exp2()).sum();
    let raw = ALPHA * registers * registers / sum;
    let empty = sketch.iter().filter(|&&rank| rank == 0).count();
    let count =
        if raw <= 2.5 * registers && empty > 0 { registers * (registers / empty as f64).ln() } else { raw };
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;

    fn host(name: &str) -> HostId {
        HostId::of(SiteId::of(name), name)
    }

    fn admitted(directories: &mut Directories, name: &str, count: u32, url: impl Fn(u32) -> String) -> u32 {
        (0..count).filter(|&number| directories.admit(host(name), &url(number))).count() as u32
    }

    #[test]
    fn a_directory_is_admitted_up_to_its_budget_within_the_error_of_the_sketch() {
        for (limit, seed) in [(10, 1), (100, 2), (1_000, 3), (10_000, 4)] {
            let mut directories = Directories::new(limit, seed);
            let count = admitted(&mut directories, "a.test", 5 * limit, |n| format!("http://a.test/d/{n}"));
            assert!((limit / 2..=2 * limit).contains(&count), "{count} of {limit}");
            assert!(!directories.admit(host("a.test"), "http://a.test/d/new"));
            assert!(directories.admit(host("a.test"), "http://a.test/e/new"), "another directory");
            assert!(directories.admit(host("b.test"), "http://a.test/d/new"), "another host");
        }
        assert!(!Directories::new(0, 0).admit(host("a.test"), "http://a.test/"));
    }

    #[test]
    fn a_url_seen_again_counts_once() {
        let mut directories = Directories::new(100, 7);
        assert_eq!(
            admitted(&mut directories, "a.test", 100_000, |n| format!("http://a.test/{}", n % 20)),
            100_000
        );
    }

    #[test]
    fn each_script_has_a_budget_of_its_own() {
        assert_eq!(directory("http://a.test/d/f.html"), "http://a.test/d/");
        assert_eq!(directory("http://a.test/d/f.php?x=/y"), "http://a.test/d/f.php?");
        assert_eq!(directory("http://a.test/"), "http://a.test/");
        let mut directories = Directories::new(100, 7);
        admitted(&mut directories, "a.test", 1_000, |n| format!("http://a.test/cal?m={n}"));
        assert!(!directories.admit(host("a.test"), "http://a.test/cal?m=x"));
        assert!(directories.admit(host("a.test"), "http://a.test/cal"));
    }

    #[test]
    fn a_big_directory_is_not_forgotten_for_many_small_ones() {
        let mut directories = Directories::new(1_000, 9);
        admitted(&mut directories, "big.test", 5_000, |n| format!("http://big.test/{n}"));
        let small = DIRECTORIES as u32 * 2;
        assert_eq!(
            admitted(&mut directories, "many.test", small, |n| format!("http://many.test/{n}/x")),
            small
        );
        assert!(!directories.admit(host("big.test"), "http://big.test/new"));
    }
}
