//! WordNet from a folder.

use anthill_crawler::focus::wordnet::{Files, WordNet};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Where Debian's `wordnet-base` has it.
pub const USUAL_FOLDER: &str = "/usr/share/wordnet";
/// Bytes of one file, at most: the largest of WordNet 3.0 has 15 million.
const MAX_FILE: u64 = 64 << 20;

/// Reads WordNet's files of all parts of speech in a folder.
///
/// # Errors
/// When one is missing, cannot be read, or is not what it should be; says what helps.
pub fn read(folder: &Path) -> Result<WordNet> {
    let text = |name: String| -> Result<String> {
        let path = folder.join(name);
        let mut text = String::new();
        let file = File::open(&path).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
        file.with_context(|| {
            format!(
                "cannot read {}: install WordNet 3.0 (Debian: wordnet-base), or say where it is",
                path.display()
            )
        })?;
        if text.len() as u64 > MAX_FILE {
            bail!("{} is larger than {} MiB, the most that is read", path.display(), MAX_FILE >> 20);
        }
        Ok(text)
    };
    let all = WordNet::SPEECHES.map(|speech| -> Result<(String, String)> {
        Ok((text(format!("data.{}", speech.file()))?, text(format!("{}.exc", speech.file()))?))
    });
    let [nouns, verbs, adjectives, adverbs] = all;
    let texts = [nouns?, verbs?, adjectives?, adverbs?];
    let files = texts.each_ref().map(|(data, exceptions)| Files { data, exceptions });
    WordNet::read(files).with_context(|| format!("WordNet in {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_it_says_what_helps() {
        let empty = tempfile::tempdir().unwrap();
        let error = format!("{:#}", read(empty.path()).unwrap_err());
        assert!(error.contains("data.noun") && error.contains("wordnet-base"), "{error}");
        for name in ["noun", "verb", "adj", "adv"] {
            std::fs::write(empty.path().join(format!("data.{name}")), "00000010 03 n 01 ant 0 000 | \n")
                .unwrap();
            std::fs::write(empty.path().join(format!("{name}.exc")), "").unwrap();
        }
        assert_eq!(read(empty.path()).unwrap().synsets(), 4);
        std::fs::write(empty.path().join("data.verb"), "?").unwrap();
        let error = format!("{:#}", read(empty.path()).unwrap_err());
        assert!(error.contains("data.verb") && error.contains(empty.path().to_str().unwrap()), "{error}");
    }
}
