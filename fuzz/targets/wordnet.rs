//! WordNet's files, which may be anything: they are read or refused, and any two words are related somehow.
#![no_main]
use anthill_crawler::focus::wordnet::{Files, WordNet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: (&str, &str, &str)| {
    let (data, exceptions, word) = texts;
    let files = Files { data, exceptions };
    if let Ok(words) = WordNet::read([files, files, files, files]) {
        let _ = words.relation(word, "ant");
        let _ = words.relation(word, word);
    }
});
