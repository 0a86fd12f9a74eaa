//! Who works on which site, decided without IO.
//!
//! [`key`] names sites, hosts and URLs under which work is placed and stored; [`wire`] is the one codec of messages and
//! stored values; [`time`] and [`map`] are what the pure rooms use in place of clocks and of maps with a random order.
//! [`peer`] and [`signed`] are who speaks and how it is proved; [`member`] is what a peer says of itself, and [`placement`]
//! computes from that who should hold what. [`view`] is the swarm as one peer sees it, by SWIM, and [`claim`] who may fetch where.
//! [`replica`] brings what a holder writes to the peers that keep the slot ([`tally`] has the values in it that are counted),
//! [`links`] brings links to the holder of theirs, and [`steward`] shares out the time of an address among those that hold hosts
//! there. [`contract_net`] is how peers negotiate who takes what from whom when load is uneven. [`plan`] says who answers for what when something is searched for. [`exclusion`] is what part of the web must be left
//! alone, and who says so, [`registry`] the crawls there are and how far they came; what is said of both reaches all by [`epidemic`].
//! [`lesson`] is what paths led to the topic of crawls, [`outlook`] how near to it what is to be fetched is. [`cash`] is what
//! pages pass on of their importance. [`names`] keeps names of peers once, [`pack`] gives memory back of slots that went to others.
//! Nothing here touches a clock, a socket, a disk or ambient randomness.

pub mod cash;
pub mod claim;
pub mod contract_net;
pub mod epidemic;
pub mod exclusion;
pub mod frequency;
pub mod key;
pub mod lesson;
pub mod links;
pub mod map;
pub mod member;
pub mod names;
pub mod outlook;
pub mod pack;
pub mod peer;
pub mod placement;
pub mod plan;
pub mod registry;
pub mod replica;
pub mod signed;
pub mod steward;
pub mod tally;
pub mod time;
pub mod view;
pub mod wire;
