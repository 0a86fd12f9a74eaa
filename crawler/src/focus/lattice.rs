//! Formal concept analysis (Ganter and Wille, "Formal Concept Analysis", 1999): which objects share which attributes.
//!
//! A *context* says which object has which attribute. A *concept* is a set of objects (its extent) and all the attributes that
//! they share (its intent), such that no other object has them all. Concepts are found by Close-by-One (Kuznetsov 1993, as told
//! in Krajca, Outrata and Vychodil, "Advances in algorithms based on CbO", CLA 2010, section 3): each exactly once, with a test
//! in place of a table of those found.

use fixedbitset::FixedBitSet;

/// Objects of a context, at most.
pub const MAX_OBJECTS: usize = 65_536;
/// Attributes of a context, at most: each concept costs a look at all of them.
pub const MAX_ATTRIBUTES: usize = 1_024;
/// Pairs of both, at most.
const MAX_CELLS: usize = 16 << 20;

/// Why there is no context.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ContextError {
    /// The first line of Burmeister's format is a `B`.
    #[error("not a context in Burmeister's format: its first line has to be B")]
    NotBurmeister,
    /// A number of objects or attributes is missing.
    #[error("line {0}: the number of objects or of attributes is missing")]
    Count(usize),
    /// More than is worked with.
    #[error(
        "{objects} objects and {attributes} attributes: at most {MAX_OBJECTS} and {MAX_ATTRIBUTES} are worked with, and {MAX_CELLS} pairs"
    )]
    TooLarge {
        /// What the file says.
        objects: usize,
        /// What the file says.
        attributes: usize,
    },
    /// A name or a row is missing.
    #[error("the file ends before its {0}")]
    Ends(&'static str),
    /// A row has another length than there are attributes, or another character than `X`, `x` and `.`.
    #[error("line {0}: a row has to have an X or a dot for each attribute")]
    Row(usize),
}

/// Which object has which attribute; both are numbers from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    objects: usize,
    /// Of each attribute, the objects that have it.
    columns: Vec<FixedBitSet>,
}

/// Objects, and all the attributes that they share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Concept {
    /// The objects.
    pub extent: FixedBitSet,
    /// The attributes.
    pub intent: FixedBitSet,
}

/// The concepts of a context.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// That of all objects first.
    pub concepts: Vec<Concept>,
    /// Whether these are all.
    pub is_whole: bool,
}

impl Context {
    /// The context of objects, of each of which the attributes are given.
    ///
    /// # Panics
    /// When an attribute is not below `attributes`, or more are given than [`MAX_OBJECTS`] and [`MAX_ATTRIBUTES`].
    pub fn new(attributes: usize, objects: &[Vec<usize>]) -> Context {
        assert!(
            objects.len() <= MAX_OBJECTS && attributes <= MAX_ATTRIBUTES,
            "contexts are bounded by who makes them"
        );
        let mut columns = vec![FixedBitSet::with_capacity(objects.len()); attributes];
        for (object, has) in objects.iter().enumerate() {
            has.iter().for_each(|attribute| columns[*attribute].insert(object));
        }
        Context { objects: objects.len(), columns }
    }

    /// The context in a file of Burmeister's format (`.cxt`): `B`, a name, the two numbers, names of objects and attributes, and a
    /// row of `X` and `.` for each object. Empty lines may be between the numbers and the names.
    ///
    /// # Errors
    /// [`ContextError`].
    pub fn parse(text: &str) -> Result<Context, ContextError> {
        let mut lines = text.lines().map(str::trim_end).enumerate();
        if lines.next().is_none_or(|(_, line)| line.trim_start_matches('\u{feff}') != "B") {
            return Err(ContextError::NotBurmeister);
        }
        lines.next();
        let mut count = || {
            let (at, line) =
                lines.by_ref().find(|(_, line)| !line.is_empty()).ok_or(ContextError::Count(2))?;
            line.trim().parse::<usize>().map_err(|_| ContextError::Count(at + 1))
        };
        let (objects, attributes) = (count()?, count()?);
        let cells = objects.saturating_mul(attributes);
        if objects > MAX_OBJECTS || attributes > MAX_ATTRIBUTES || cells > MAX_CELLS {
            return Err(ContextError::TooLarge { objects, attributes });
        }
        // The line between the numbers and the names, which some leave away.
        let mut lines = lines.peekable();
        lines.next_if(|(_, line)| line.is_empty());
        if lines.by_ref().take(objects + attributes).count() < objects + attributes {
            return Err(ContextError::Ends("names"));
        }
        let mut columns = vec![FixedBitSet::with_capacity(objects); attributes];
        for object in 0..objects {
            let (at, row) = lines.next().ok_or(ContextError::Ends("rows"))?;
            if row.len() != attributes || !row.bytes().all(|b| matches!(b, b'X' | b'x' | b'.')) {
                return Err(ContextError::Row(at + 1));
            }
            let crosses = row.bytes().enumerate().filter(|(_, b)| *b != b'.');
            crosses.for_each(|(attribute, _)| columns[attribute].insert(object));
        }
        Ok(Context { objects, columns })
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// How many attributes there are.
    pub fn attributes(&self) -> usize {
        self.columns.len()
    }

    /// The concepts, at most that many: each comes before those within it that are found from it.
    pub fn lattice(&self, most: usize) -> Lattice {
        let mut concepts = Vec::new();
        let is_whole = self.each(most, |concept| concepts.push(concept.clone()));
        Lattice { concepts, is_whole }
    }

    /// Shows the concepts, at most that many, without keeping them. Whether these were all.
    pub fn each(&self, most: usize, mut show: impl FnMut(&Concept)) -> bool {
        let top = self.top();
        let mut left = most;
        // Those on the way to the one looked at, and from which attribute on others are to be looked for within each.
        let mut path: Vec<(Concept, usize)> = Vec::new();
        let mut next = Some((top, 0));
        loop {
            if let Some((concept, from)) = next.take() {
                if left == 0 {
                    return false;
                }
                left -= 1;
                show(&concept);
                path.push((concept, from));
            }
            let Some((concept, from)) = path.last_mut() else { return true };
            let within = (*from..self.attributes()).find_map(|a| Some((self.with(concept, a)?, a + 1)));
            match within {
                Some((within, after)) => {
                    *from = after;
                    next = Some((within, after));
                }
                None => {
                    path.pop();
                }
            }
        }
    }

    /// The concept of all objects.
    fn top(&self) -> Concept {
        let mut extent = FixedBitSet::with_capacity(self.objects);
        extent.insert_range(..);
        let mut intent = FixedBitSet::with_capacity(self.attributes());
        let shared = (0..self.attributes()).filter(|a| extent.is_subset(&self.columns[*a]));
        shared.for_each(|a| intent.insert(a));
        Concept { extent, intent }
    }

    /// The concept of those of a concept's objects that have one more attribute, unless they share an earlier attribute that the
    /// concept has not: then it is found from there (the test of canonicity).
    fn with(&self, concept: &Concept, attribute: usize) -> Option<Concept> {
        if concept.intent.contains(attribute) {
            return None;
        }
        let mut extent = concept.extent.clone();
        extent.intersect_with(&self.columns[attribute]);
        let mut intent = concept.intent.clone();
        for other in 0..self.attributes() {
            if !intent.contains(other) && extent.is_subset(&self.columns[other]) {
                if other < attribute {
                    return None;
                }
                intent.insert(other);
            }
        }
        Some(Concept { extent, intent })
    }
}

/// How alike two lattices are, 0 to 1, by the attributes of their concepts ([`Lattice::intents`], by names that mean the same in both).
///
/// Two concepts are as alike as their intents have in common, over the larger of the two: the measure of Formica, "Ontology-based concept
/// similarity in formal concept analysis", Information Sciences 176(18), 2006, with all weight on attributes, as objects (pages of one peer) are in no other
/// lattice, and attributes that are equal or not. *Departure:* papers' P5 takes its measure of lattices from a work we do not have. Here each
/// concept is as near to the other lattice as to its nearest concept; the mean of these, and of the same the other way round. Concepts without
/// attributes say nothing and are left out.
pub fn similarity(one: &[Vec<u32>], other: &[Vec<u32>]) -> f64 {
    (nearest(one, other) + nearest(other, one)) / 2.0
}

/// How near concepts are to their nearest of others, in the mean; intents are sorted.
fn nearest(from: &[Vec<u32>], to: &[Vec<u32>]) -> f64 {
    let alike = |a: &Vec<u32>, b: &Vec<u32>| {
        let common = a.iter().filter(|name| b.binary_search(name).is_ok()).count();
        common as f64 / a.len().max(b.len()) as f64
    };
    let told: Vec<&Vec<u32>> = from.iter().filter(|intent| !intent.is_empty()).collect();
    let best = |a: &&Vec<u32>| to.iter().filter(|b| !b.is_empty()).map(|b| alike(a, b)).fold(0.0, f64::max);
    told.iter().map(best).sum::<f64>() / told.len().max(1) as f64
}

impl Lattice {
    /// The intents, with names for the attributes, each sorted; see [`similarity`].
    ///
    /// # Panics
    /// When there is an attribute without a name.
    pub fn intents(&self, names: &[u32]) -> Vec<Vec<u32>> {
        let of = |concept: &Concept| {
            let mut intent: Vec<u32> = concept.intent.ones().map(|attribute| names[attribute]).collect();
            intent.sort_unstable();
            intent
        };
        self.concepts.iter().map(of).collect()
    }
}

#[cfg(test)]
#[path = "lattice_tests.rs"]
mod tests;
