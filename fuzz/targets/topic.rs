//! Topic models, as peers and files bring them: any bytes are understood or refused, and what is understood judges any text, and any link.
#![no_main]
use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::predict::{CERTAIN, Context};
use anthill_crawler::focus::reader::{About, Reader};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|data: &[u8]| {
    let (text, bytes) = data.split_at(data.len().min(128) / 2);
    let Ok(model) = Model::decode(bytes) else { return };
    assert_eq!(Model::decode(&model.encode()).as_ref().map(Model::encode), Ok(model.encode()));
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::new(&About::Examples(Arc::new(model)), Arc::default());
    let (from, class) = reader.page(&text);
    let around = reader.around(&text);
    let page = Context { relevance: from, class, ..Context::default() };
    let clues = reader.clues(page, &text, around, &format!("http://a.test/{text}"));
    assert!(from <= CERTAIN && clues.anchor <= CERTAIN && clues.around <= CERTAIN);
});
