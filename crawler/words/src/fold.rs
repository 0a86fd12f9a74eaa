//! Case and accent folding, one character at a time.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// What a character is to the splitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Part of a word.
    Word,
    /// Part of a word in a script written without spaces.
    Dense,
    /// Belongs to the word it stands in, and adds nothing to it (accents, soft hyphens, joiners).
    Silent,
    /// Ends a word.
    Gap,
}

/// The class of a character outside ASCII.
pub fn class(c: char) -> Class {
    match c as u32 {
        // Combining accents, Hebrew points, Arabic vowel signs and the stretcher, zero-width characters, soft hyphen,
        // variation selectors.
        0x0300..=0x036F
        | 0x0591..=0x05BD
        | 0x05BF
        | 0x05C1..=0x05C2
        | 0x05C4..=0x05C5
        | 0x05C7
        | 0x0610..=0x061A
        | 0x0640
        | 0x064B..=0x065F
        | 0x0670
        | 0x00AD
        | 0x200B..=0x200F
        | 0x2060
        | 0xFE00..=0xFE0F
        | 0xFEFF => Class::Silent,
        // Thai, Lao, Myanmar, Khmer.
        0x0E01..=0x0E4E | 0x0E81..=0x0ECD | 0x1000..=0x1049 | 0x1780..=0x17D3 => Class::Dense,
        // Iteration marks, kana, Hangul syllables, Han and their extensions, half-width kana.
        0x3005
        | 0x3041..=0x3096
        | 0x309D..=0x309F
        | 0x30A1..=0x30FA
        | 0x30FC..=0x30FF
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D
        | 0x20000..=0x3FFFF => Class::Dense,
        _ if c.is_alphanumeric() || is_combining_mark(c) => Class::Word,
        _ => Class::Gap,
    }
}

/// Appends what is left of a character when case, accents and forms of presentation are taken away.
pub fn fold(c: char, out: &mut String) {
    if !c.is_ascii()
        && let Some(letters) = own(c)
    {
        return out.push_str(letters);
    }
    match c {
        'A'..='Z' => out.push(c.to_ascii_lowercase()),
        '\0'..='\u{7F}' => out.push(c),
        // Latin and Greek in all their blocks, ligatures, full and half width: decomposed, without marks.
        '\u{00AA}'..='\u{024F}'
        | '\u{0370}'..='\u{03FF}'
        | '\u{1D00}'..='\u{1FFF}'
        | '\u{2070}'..='\u{209F}'
        | '\u{2100}'..='\u{214F}'
        | '\u{2C60}'..='\u{2C7F}'
        | '\u{FB00}'..='\u{FB06}'
        | '\u{FF00}'..='\u{FF9D}' => decompose_compatible(c, |part| {
            if part.is_alphanumeric() {
                for letter in part.to_lowercase().filter(|l| !is_combining_mark(*l)) {
                    // A raised Æ is an Æ, and a lunate sigma a sigma at the end.
                    match own(letter) {
                        Some(letters) => out.push_str(letters),
                        None => out.push(letter),
                    }
                }
            }
        }),
        _ => out.extend(c.to_lowercase()),
    }
}

/// Letters that are written otherwise than by leaving marks away.
fn own(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' | 'ǽ' | 'Ǽ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' | 'ǿ' | 'Ǿ' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ħ' | 'Ħ' => "h",
        'ŧ' | 'Ŧ' => "t",
        'ŋ' | 'Ŋ' => "n",
        // Turkish: with dot or without, capital or small, all four are one letter here.
        'ı' | 'İ' => "i",
        'ς' => "σ",
        'ё' | 'Ё' => "е",
        'أ' | 'إ' | 'آ' | 'ٱ' => "ا",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(s: &str) -> String {
        let mut out = String::new();
        for c in s.chars().filter(|c| c.is_ascii() || class(*c) != Class::Silent) {
            fold(c, &mut out);
        }
        out
    }

    #[test]
    fn accents_and_case_go() {
        for (a, b) in [
            ("MÁS", "mas"),
            ("ma\u{301}s", "mas"),
            ("Straße", "strasse"),
            ("Łódź", "lodz"),
            ("Ærøskøbing", "aeroskobing"),
            ("İstanbul", "istanbul"),
            ("ISPARTA", "isparta"),
            ("ısparta", "isparta"),
            ("Ελλάδας", "ελλαδασ"),
            ("Việt", "viet"),
            ("ﬁn", "fin"),
            ("Ｐｙｔｈｏｎ", "python"),
            ("ёж", "еж"),
            ("ϲοφοϲ", "σοφοσ"),
            ("ᴭ", "ae"),
        ] {
            assert_eq!(folded(a), b, "{a}");
        }
    }

    #[test]
    fn what_is_folded_stays_as_it_is() {
        for c in
            ('\0'..=char::MAX).filter(|c| c.is_ascii() || matches!(class(*c), Class::Word | Class::Dense))
        {
            let once = folded(&c.to_string());
            assert_eq!(folded(&once), once, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn letters_that_are_letters_of_their_own_stay() {
        assert_eq!(folded("йод"), "йод");
        assert_eq!(folded("हिन्दी"), "हिन्दी");
    }
}
