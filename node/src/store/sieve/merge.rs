//! Runs become one, a little with each write: so that no write waits for long.

use super::run::{Output, Run, ids};
use crate::store::{Result, Store};
use rocksdb::WriteBatch;

/// Runs of about one size from which on they are merged.
pub const WIDTH: usize = 4;
/// Parts of a filter written in one step: 1 MB.
const PARTS: usize = 16;

/// Where one of the runs has been read up to.
struct Source {
    /// Its place among the runs.
    run: usize,
    /// The next chunk to be read.
    place: usize,
    /// The least id that was not taken, and those after it in its chunk.
    head: u128,
    rest: std::vec::IntoIter<u128>,
}

impl Source {
    /// Goes on to the next id; whether there is one.
    fn advance(&mut self, runs: &[Run], store: &Store) -> Result<bool> {
        if let Some(id) = self.rest.next() {
            self.head = id;
            return Ok(true);
        }
        let Some(run) = runs.get(self.run).filter(|run| self.place < run.chunks()) else { return Ok(false) };
        self.rest = ids(&run.chunk(store, self.place)?).collect::<Vec<_>>().into_iter();
        self.place += 1;
        self.head = self.rest.next().unwrap_or(self.head);
        Ok(true)
    }
}

/// A merge under way.
pub struct Merge {
    /// Places of the runs that become one.
    pub inputs: Vec<usize>,
    sources: Vec<Source>,
    output: Output,
}

/// The size of a run: the power of [`WIDTH`] which, times `unit`, it has ids.
fn size(run: &Run, unit: usize) -> u32 {
    (run.listed.ids / unit.max(1) as u64).max(1).ilog(WIDTH as u64)
}

/// How many sizes there are, up to the greatest.
pub fn sizes(runs: &[Run], unit: usize) -> usize {
    runs.iter().map(|run| size(run, unit) as usize + 1).max().unwrap_or_default()
}

/// Runs that are to be merged: those of the smallest size of which there are enough.
pub fn choose(runs: &[Run], unit: usize) -> Option<Vec<usize>> {
    (0..sizes(runs, unit) as u32).find_map(|wanted| {
        let of_size = runs.iter().enumerate().filter(|(_, run)| size(run, unit) == wanted);
        let inputs: Vec<usize> = of_size.map(|(place, _)| place).collect();
        (inputs.len() >= WIDTH).then_some(inputs)
    })
}

impl Merge {
    /// Begins to merge the runs at these places into one of this number.
    ///
    /// # Errors
    /// As all that reads.
    pub fn begin(inputs: Vec<usize>, number: u64, runs: &[Run], store: &Store) -> Result<Merge> {
        let total = inputs.iter().filter_map(|&place| runs.get(place)).map(|run| run.listed.ids).sum();
        let mut sources = Vec::with_capacity(inputs.len());
        for &run in &inputs {
            let mut source = Source { run, place: 0, head: 0, rest: Vec::new().into_iter() };
            if source.advance(runs, store)? {
                sources.push(source);
            }
        }
        Ok(Merge { inputs, sources, output: Output::new(number, total) })
    }

    /// The number of the run that is made.
    pub fn number(&self) -> u64 {
        self.output.number()
    }

    /// Moves at most `limit` ids; whether everything is in `batch` or was in those before.
    ///
    /// # Errors
    /// As all that reads; then the merge is to be given up.
    pub fn step(
        &mut self,
        limit: usize,
        runs: &[Run],
        store: &Store,
        batch: &mut WriteBatch,
    ) -> Result<bool> {
        for _ in 0..limit {
            let least = self.sources.iter().enumerate().min_by_key(|(_, source)| source.head);
            let Some((place, _)) = least else { break };
            let source = &mut self.sources[place];
            self.output.push(source.head, store, batch);
            if !source.advance(runs, store)? {
                self.sources.swap_remove(place);
            }
        }
        Ok(self.sources.is_empty() && self.output.write_parts(PARTS, store, batch))
    }

    /// The run that was made.
    pub fn finish(self) -> Run {
        self.output.finish()
    }
}
