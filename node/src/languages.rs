//! Languages that crawls prefer (López-Sánchez et al., "i-Bot", 2000, section on the Spanish search engine: links of Spanish pages come first,
//! all pages give links, Spanish ones alone are indexed, and a page with some Spanish is one of them).

use crate::settings::Settings;
use anthill_crawler::parse::Page;

/// Which pages are preferred, and whether others are indexed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Languages {
    /// Codes, ISO 639-1, else 639-3; none: all are alike.
    preferred: Vec<String>,
    /// Whether they alone are indexed.
    only: bool,
}

impl Languages {
    /// As settings say.
    pub fn of(settings: &Settings) -> Languages {
        Languages { preferred: settings.prefer.clone(), only: settings.index_only }
    }

    /// Whether a page is of one of them: by most of its text, by a paragraph of some length, or, if its text is too little to tell, by what it
    /// says of itself.
    pub fn include(&self, page: &Page) -> bool {
        let is_one = |code: &str| self.preferred.iter().any(|one| one == code);
        let by_text = page.lang.iter().chain(&page.passages).any(|code| is_one(code));
        let untold = page.lang.is_none() && page.langs.is_empty();
        self.preferred.is_empty() || by_text || untold && page.declared_lang.as_deref().is_some_and(is_one)
    }

    /// Whether a page is kept out of the index for its language.
    pub fn keep_out(&self, page: &Page) -> bool {
        self.only && !self.include(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lang: Option<&'static str>, passages: &[&'static str], declared: Option<&str>) -> Page {
        Page {
            lang,
            langs: lang.iter().chain(passages).map(|code| (*code, 0.5)).collect(),
            passages: passages.to_vec(),
            declared_lang: declared.map(str::to_owned),
            ..Page::default()
        }
    }

    #[test]
    fn a_page_counts_by_its_text_or_by_a_passage_and_by_its_word_where_text_is_little() {
        let languages = Languages { preferred: vec!["es".to_owned(), "ca".to_owned()], only: true };
        for (lang, passages, declared, counts) in [
            (Some("es"), &[][..], None, true),
            (Some("ca"), &[], Some("en"), true),
            (Some("en"), &["en", "es"], None, true),
            (None, &["de", "es"], None, true),
            (None, &[], Some("es"), true),
            (Some("en"), &[], Some("es"), false),
            (Some("en"), &["de"], Some("es"), false),
            (None, &[], None, false),
        ] {
            let page = page(lang, passages, declared);
            assert_eq!((languages.include(&page), languages.keep_out(&page)), (counts, !counts), "{page:?}");
        }
    }

    #[test]
    fn without_preference_every_page_counts_and_others_are_kept_out_where_that_is_wanted_alone() {
        assert!(Languages::default().include(&page(None, &[], None)));
        let languages = Languages { preferred: vec!["es".to_owned()], only: false };
        let english = page(Some("en"), &[], None);
        assert!(!languages.include(&english) && !languages.keep_out(&english));
    }
}
