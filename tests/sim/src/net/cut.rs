//! Who does not hear whom.

use crate::node::NodeId;

/// A part of the network that is cut.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub id: u32,
    /// Who is not heard.
    speakers: Group,
    /// By whom; nobody named means all others.
    hearers: Option<Group>,
    /// The other way as well.
    both: bool,
}

impl Cut {
    /// `speakers` are not heard by `hearers` (by all others if those are none), nor the other way if `both`.
    pub fn new(id: u32, speakers: &[NodeId], hearers: &[NodeId], both: bool) -> Cut {
        let hearers = (!hearers.is_empty()).then(|| Group::new(hearers));
        Cut { id, speakers: Group::new(speakers), hearers, both }
    }

    /// True if what `from` sends does not reach `to`.
    pub fn blocks(&self, from: NodeId, to: NodeId) -> bool {
        self.one_way(from, to) || (self.both && self.one_way(to, from))
    }

    fn one_way(&self, from: NodeId, to: NodeId) -> bool {
        self.speakers.has(from)
            && match &self.hearers {
                Some(hearers) => hearers.has(to),
                None => !self.speakers.has(to),
            }
    }
}

/// A set of machines that answers in no time.
#[derive(Clone, Debug)]
struct Group(Vec<bool>);

impl Group {
    fn new(of: &[NodeId]) -> Group {
        let mut group = Group(Vec::new());
        for node in of {
            if group.0.len() <= node.index() {
                group.0.resize(node.index() + 1, false);
            }
            group.0[node.index()] = true;
        }
        group
    }

    fn has(&self, node: NodeId) -> bool {
        self.0.get(node.index()).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(of: &[u32]) -> Vec<NodeId> {
        of.iter().copied().map(NodeId).collect()
    }

    fn blocked(cut: &Cut) -> Vec<(u32, u32)> {
        let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| cut.blocks(NodeId(a), NodeId(b))).collect()
    }

    #[test]
    fn cuts_are_full_one_way_or_partial() {
        let full = Cut::new(1, &ids(&[0, 1]), &[], true);
        assert_eq!(blocked(&full), [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)]);
        let one_way = Cut::new(1, &ids(&[0]), &[], false);
        assert_eq!(blocked(&one_way), [(0, 1), (0, 2), (0, 3)]);
        let partial = Cut::new(1, &ids(&[0]), &ids(&[2]), true);
        assert_eq!(blocked(&partial), [(0, 2), (2, 0)]);
    }
}
