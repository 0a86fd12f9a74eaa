//! Negotiations as the API tells them.

use super::swarm::named;
use super::{Live, rfc3339_instant};
use crate::api::{PeerError, types};
use crate::driver::Mind;
use anthill_crawler::focus::ability::Ability;
use anthill_protocol::contract_net::story::{Event, Story};
use anthill_protocol::contract_net::{Able, Load};

impl Live {
    /// Negotiations that this peer is or was in.
    pub(super) fn negotiations(&self) -> Result<types::Negotiations, PeerError> {
        let (enabled, (given, taken), stories) = self.ask(|mind: &Mind| {
            let contracts = mind.contracts();
            let stories: Vec<Story> = contracts.iter().flat_map(|net| net.stories()).cloned().collect();
            (contracts.is_some(), contracts.map_or((0, 0), |net| net.open()), stories)
        })?;
        let ability = self.shared.ability().map(|Ability { links, concepts, whole }| types::TopicAbility {
            whole,
            links,
            concepts,
        });
        let (past, open): (Vec<Story>, Vec<Story>) = stories.into_iter().partition(|story| story.ended);
        let negotiations = open.iter().chain(past.iter().rev()).map(told).collect();
        Ok(types::Negotiations { enabled, ability, given: given as u64, taken: taken as u64, negotiations })
    }
}

fn told(story: &Story) -> types::Negotiation {
    let event = |(at, event): &(_, Event)| types::NegotiationEvent {
        at: rfc3339_instant(*at).unwrap_or_default(),
        ..told_event(event)
    };
    types::Negotiation {
        id: format!("{:016x}", story.id.0),
        manager: named(&story.manager),
        ended: story.ended,
        events: story.lines.iter().map(event).collect(),
    }
}

/// Thousandths as people read them.
fn whole(permille: u32) -> f64 {
    f64::from(permille) / 1_000.0
}

fn told_event(event: &Event) -> types::NegotiationEvent {
    let of = |peer| types::NegotiationEvent {
        what: event.kind().to_owned(),
        peer: Some(named(peer)),
        ..types::NegotiationEvent::default()
    };
    // What counts: how able a peer is, or else how busy.
    let with = |told, load: &Load, able: &Option<Able>| match able {
        Some(able) => types::NegotiationEvent {
            ability: Some(whole(able.ability.into())),
            best: Some(whole(able.best.into())),
            ..told
        },
        None => types::NegotiationEvent {
            ability_s: Some(load.ability().as_secs_f64()),
            pages_per_s: Some(whole(load.speed)),
            ..told
        },
    };
    match event {
        Event::Called { by, load, able, lots, pages, asked } => types::NegotiationEvent {
            asked: asked.iter().map(named).collect(),
            slots: Some(*lots as u64),
            pages: Some(*pages),
            ..with(of(by), load, able)
        },
        Event::Bid { by, load, able, standing } => {
            let told = of(by);
            with(types::NegotiationEvent { standing: standing.map(whole), ..told }, load, able)
        }
        Event::Refused { by, why } => types::NegotiationEvent { why: Some(why.word().to_owned()), ..of(by) },
        Event::Won { by, lots, pages } => {
            types::NegotiationEvent { slots: Some(*lots as u64), pages: Some(*pages), ..of(by) }
        }
        Event::Solicited { by } | Event::Passed { by } => of(by),
        Event::Agreed { with } => of(with),
        Event::Moved { slot, to } => {
            types::NegotiationEvent { slot: Some(u64::from(slot.number())), ..of(to) }
        }
        Event::Informed { by, came, waiting } => {
            types::NegotiationEvent { slots: Some(u64::from(*came)), pages: Some(*waiting), ..of(by) }
        }
        Event::Renewed { with } => of(with),
        Event::Done { by } => of(by),
        Event::Failed { with, why } => {
            types::NegotiationEvent { why: Some(why.word().to_owned()), ..of(with) }
        }
        Event::InVain => {
            types::NegotiationEvent { what: event.kind().to_owned(), ..types::NegotiationEvent::default() }
        }
    }
}
